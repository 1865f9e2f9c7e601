//go:build packages

// Package rollouts pins what the build script builds from this module.
package rollouts

import _ "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"
