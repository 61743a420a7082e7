// A CoreDNS with only the plugins that a cluster needs (the full one pulls in cloud SDKs).
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

// The order of the chain: kubernetes before template, which answers NXDOMAIN for all other names.
func init() {
	dnsserver.Directives = []string{"health", "ready", "errors", "cache", "kubernetes", "template"}
}

func main() { coremain.Run() }
