"""Models in GGUF files, run by llama.cpp: embedding, reranking, chat."""
