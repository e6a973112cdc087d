//! The Kubernetes API of Groundwork, group `groundwork.dev`, version `v1alpha1`.
