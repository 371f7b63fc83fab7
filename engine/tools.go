//go:build tools

// Package tools names what go.mod pins: the engine's command line, and the SDK that carries the Python exec shim.
package tools

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
