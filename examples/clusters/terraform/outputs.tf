locals {
  loaded = var.balanced ? [aws_lb.internal.dns_name] : local.addresses
}

output "urls" {
  description = "What Highwater loads, one URL per line."
  value       = join("\n", [for host in local.loaded : "crate://crate@${host}:${local.http_port}/doc"])
}

output "metrics" {
  description = "Where each node's metrics are, one URL per line."
  value       = join("\n", [for address in local.addresses : "http://${address}:9100/metrics"])
}

output "health" {
  description = "Where the cluster says how many nodes it has: it takes SQL."
  value       = "http://${aws_lb.internal.dns_name}:${local.http_port}/_sql"

  # The load balancer does not respond before it has nodes.
  depends_on = [aws_lb_listener.http, aws_lb_target_group_attachment.http]
}
