# The network, with the utility machine in it: the load generator, which also starts and ends the data
# nodes.

data "aws_availability_zones" "available" {
  state = "available"
}

data "aws_caller_identity" "current" {}

data "aws_ami" "debian" {
  most_recent = true
  # Debian's own account.
  owners = ["136693071363"]

  filter {
    name   = "name"
    values = ["debian-12-amd64-*"]
  }
}

resource "aws_vpc" "network" {
  cidr_block           = var.cidr
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

resource "aws_internet_gateway" "network" {
  vpc_id = aws_vpc.network.id
}

# One subnet, so that traffic between nodes and load generator stays in one zone.
resource "aws_subnet" "machines" {
  vpc_id                  = aws_vpc.network.id
  cidr_block              = cidrsubnet(var.cidr, 8, 0)
  availability_zone       = data.aws_availability_zones.available.names[0]
  map_public_ip_on_launch = true

  tags = { Name = var.name }
}

resource "aws_route_table" "machines" {
  vpc_id = aws_vpc.network.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.network.id
  }
}

resource "aws_route_table_association" "machines" {
  subnet_id      = aws_subnet.machines.id
  route_table_id = aws_route_table.machines.id
}

resource "aws_security_group" "utility" {
  name        = "${var.name}-utility"
  description = "The utility machine: SSH from one place"
  vpc_id      = aws_vpc.network.id
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  security_group_id = aws_security_group.utility.id
  description       = "SSH"
  cidr_ipv4         = var.allowed
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
}

resource "aws_vpc_security_group_egress_rule" "utility" {
  security_group_id = aws_security_group.utility.id
  description       = "Nodes, packages, and AWS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

# Terraform on the utility machine starts and ends nodes with this role: machines and load balancers of one region.
resource "aws_iam_role" "utility" {
  name = "${var.name}-utility"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "utility" {
  name = "${var.name}-nodes"
  role = aws_iam_role.utility.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Action    = ["ec2:*", "elasticloadbalancing:*"]
        Resource  = "*"
        Condition = { StringEquals = { "aws:RequestedRegion" = var.region } }
      },
      # If an account never had a load balancer, the first one creates this role.
      {
        Effect    = "Allow"
        Action    = "iam:CreateServiceLinkedRole"
        Resource  = "arn:aws:iam::${data.aws_caller_identity.current.account_id}:role/aws-service-role/elasticloadbalancing.amazonaws.com/*"
        Condition = { StringEquals = { "iam:AWSServiceName" = "elasticloadbalancing.amazonaws.com" } }
      },
    ]
  })
}

resource "aws_iam_instance_profile" "utility" {
  name = "${var.name}-utility"
  role = aws_iam_role.utility.name
}

resource "aws_instance" "utility" {
  ami                    = data.aws_ami.debian.id
  instance_type          = var.instance_type
  key_name               = var.key_name
  subnet_id              = aws_subnet.machines.id
  private_ip             = cidrhost(aws_subnet.machines.cidr_block, 8)
  vpc_security_group_ids = [aws_security_group.utility.id]
  iam_instance_profile   = aws_iam_instance_profile.utility.name

  user_data = templatefile("${path.module}/utility.sh.tftpl", {
    key_name   = var.key_name
    name       = var.name
    region     = var.region
    repository = var.repository
    subnet_id  = aws_subnet.machines.id
  })

  root_block_device {
    volume_type = "gp3"
    volume_size = 100
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = { Name = "${var.name}-utility" }

  lifecycle {
    ignore_changes = [ami]
  }
}
