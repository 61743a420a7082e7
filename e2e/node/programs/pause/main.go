// The first process of a pod's sandbox: holds its namespaces, and ends when it is told to.
//
// It reaps no orphans: pods here do not share their process namespace.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
