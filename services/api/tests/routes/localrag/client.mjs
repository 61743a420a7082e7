// A client as people wrote it for the original: Node's fetch, no library. Exits 0 when all is well.
import assert from 'node:assert/strict'

const [base, model, reranker] = process.argv.slice(2)

async function call(method, path, body) {
  // No Content-Type: the original asked for none, and fetch calls a string text/plain.
  const response = await fetch(base + path, { method, body: body && JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text }
}
const post = (path, body) => call('POST', path, body)
const get = (path) => call('GET', path)

assert.deepEqual(await get('/'), { status: 200, body: 'Local RAG API Service' })
assert.equal((await get('/v1/chat/completions')).status, 404)

// Stateless: chunk, then query the chunks
const text = 'Ships moor at the north quay. '.repeat(3) + 'Wheat is harvested in August. '.repeat(3)
const made = await post('/v1/chunk', { text, model, chunkSize: 18, overlap: 0, generateContexts: true })
assert.equal(made.status, 200)
for (const chunk of made.body.chunks) {
  assert.equal(typeof chunk.content, 'string')
  assert.ok(chunk.content_embedding.every(Number.isFinite))
  assert.equal(chunk.context_embedding.length, chunk.content_embedding.length)
  assert.deepEqual(chunk.metadata, { file_id: '', folder_id: null, has_context: true })
  assert.deepEqual(chunk.scores, { content: 0, context: 0, combined: 0 })
}
const asked = await post('/v1/query', {
  query: 'ships moor', chunks: made.body.chunks, embeddingModel: model, rerankerModel: reranker, topK: 1,
})
assert.equal(asked.body.results.length, 1)
assert.match(asked.body.results[0].content, /Ships moor/)
const scores = asked.body.results[0].scores
assert.ok(Math.abs(scores.combined - (0.6 * scores.content + 0.4 * scores.context)) < 1e-9)
assert.equal(typeof scores.reranked, 'number')

// Stored: store, list, retrieve, delete
const stored = await post('/v1/store', { document: text, folder_id: 'harbour', chunkSize: 18, overlap: 0 })
assert.equal(stored.status, 200)
assert.equal(stored.body.message, 'Document chunks processed successfully')
assert.match(stored.body.file_id, /^[0-9a-f]{32}$/)
assert.equal(stored.body.chunks.length, made.body.chunks.length)
const listed = await get('/v1/documents?page=1&pageSize=5&folder_id=harbour')
assert.equal(listed.body.pagination.total_items, 1)
assert.equal(listed.body.data[0].file_id, stored.body.file_id)
const found = await post('/v1/retrieve', { query: 'ships moor', folder_id: 'harbour', top_k: 2, threshold: 0.1 })
assert.equal(found.body.message, 'Chunks retrieved successfully')
assert.match(found.body.results[0].content, /Ships moor/)
assert.deepEqual(found.body.results[0].metadata, { file_id: stored.body.file_id, folder_id: 'harbour' })
const gone = await post('/v1/delete', { file_id: stored.body.file_id })
assert.deepEqual(gone.body, { message: 'Chunks deleted successfully', file_id: stored.body.file_id })
assert.equal((await post('/v1/delete', { file_id: stored.body.file_id })).status, 404)

// Models
assert.deepEqual(await post('/v1/models/load', { model, type: 'embedding' }), {
  status: 200, body: { message: 'Model loaded successfully' },
})
const models = await get('/v1/models')
assert.ok(models.body.some((row) => row.name === model && row.type === 'embedding' && row.loaded))
assert.equal((await post('/v1/models/unload', { model })).status, 200)

// Both shapes of errors
assert.deepEqual((await post('/v1/store', {})).body, { error: 'Document text is required' })
assert.deepEqual((await post('/v1/chunk', { text: 'a' })).body, {
  error: { message: 'Missing required parameters: text, model', type: 'invalid_request_error', param: 'model', code: null },
})
const threshold = await post('/v1/retrieve', { query: 'q', threshold: 7 })
assert.deepEqual(threshold, { status: 400, body: { error: 'Threshold must be a number between 0 and 1' } })
console.log('all flows passed')
