//go:build packages

// Package kustomize pins what the build script builds from this module.
package kustomize

import _ "sigs.k8s.io/kustomize/kustomize/v5"
