variable "nodes" {
  description = "Data nodes. Highwater gives it for each size."
  type        = number

  validation {
    condition     = var.nodes >= 1 && var.nodes <= 64 && floor(var.nodes) == var.nodes
    error_message = "From 1 to 64 whole nodes."
  }
}

# Location of the nodes. The utility machine has these values in terraform.tfvars.

variable "region" {
  description = "Region of the network."
  type        = string
}

variable "subnet_id" {
  description = "Subnet of the nodes, which has a way to the Internet: they install themselves from there."
  type        = string
}

variable "key_name" {
  description = "EC2 key pair for SSH to the nodes from inside the network; null for none."
  type        = string
  default     = null
}

# Properties of the nodes. The defaults are the article's.

variable "name" {
  description = "Names and tags everything."
  type        = string
  default     = "highwater"
}

variable "instance_type" {
  description = "Type of a data node: 16 vCPU, 64 GiB."
  type        = string
  default     = "m6in.4xlarge"
}

variable "crate_version" {
  description = "Version of CrateDB, as its archive is named."
  type        = string
  default     = "5.4.0"
}

variable "heap" {
  description = "Java heap of a node."
  type        = string
  default     = "40g"
}

variable "volume_gib" {
  description = "Size of a node's data volume in GiB. The article's is not known here."
  type        = number
  default     = 512
}

variable "volume_throughput" {
  description = "Throughput of a data volume in MiB/s."
  type        = number
  default     = 400
}

variable "volume_iops" {
  description = "IOPS of a data volume."
  type        = number
  default     = 5000
}

variable "balanced" {
  description = "Whether the load goes through the load balancer, as in the article; false gives each node's URL."
  type        = bool
  default     = true
}
