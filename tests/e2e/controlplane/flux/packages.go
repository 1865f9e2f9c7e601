//go:build packages

// Package flux pins what the build script builds from this module.
package flux

import _ "github.com/fluxcd/kustomize-controller"
