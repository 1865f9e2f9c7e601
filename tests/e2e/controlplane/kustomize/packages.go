//go:build packages

// Package packages keeps kustomize's program among the requirements of this module.
package packages

import _ "sigs.k8s.io/kustomize/kustomize/v5"
