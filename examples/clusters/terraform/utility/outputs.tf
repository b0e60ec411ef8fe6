output "ssh" {
  description = "How to reach the utility machine."
  value       = "ssh admin@${aws_instance.utility.public_ip}"
}
