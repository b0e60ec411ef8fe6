variable "allowed" {
  description = "Who may reach the utility machine by SSH, such as 203.0.113.7/32."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.allowed)) && !endswith(var.allowed, "/0")
    error_message = "An IPv4 CIDR that is not the whole Internet."
  }
}

variable "key_name" {
  description = "EC2 key pair for SSH."
  type        = string
}

variable "region" {
  description = "Region of the network."
  type        = string
  default     = "us-east-1"
}

variable "name" {
  description = "Names and tags everything."
  type        = string
  default     = "highwater"
}

variable "instance_type" {
  description = "Type of the utility machine. It is larger than a node: in the article the client was the limit at first."
  type        = string
  default     = "m6in.8xlarge"
}

variable "cidr" {
  description = "Addresses of the network."
  type        = string
  default     = "10.42.0.0/16"
}

variable "repository" {
  description = "Git address from which the utility machine clones Highwater: your copy, readable without a password"
  type        = string
}
