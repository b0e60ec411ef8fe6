# CrateDB's data nodes and the internal load balancer in front of them, in an existing network (utility/).

data "aws_subnet" "of_nodes" {
  id = var.subnet_id
}

data "aws_vpc" "network" {
  id = data.aws_subnet.of_nodes.vpc_id
}

data "aws_ami" "debian" {
  most_recent = true
  # Debian's own account.
  owners = ["136693071363"]

  filter {
    name   = "name"
    values = ["debian-12-amd64-*"]
  }
}

locals {
  http_port = 4200

  ports = {
    "HTTP"          = local.http_port
    "PostgreSQL"    = 5432
    "transport"     = 4300
    "node_exporter" = 9100
    "SSH"           = 22
  }

  # AWS reserves the first four addresses of a subnet; the utility machine has the 8th, the load balancer the 9th. With
  # fixed addresses, the other nodes find the first one, and running nodes stay unchanged when the number changes.
  addresses = [for node in range(var.nodes) : cidrhost(data.aws_subnet.of_nodes.cidr_block, 16 + node)]
}

resource "aws_security_group" "nodes" {
  name        = "${var.name}-nodes"
  description = "Data nodes: reached from inside the network alone"
  vpc_id      = data.aws_vpc.network.id
}

resource "aws_vpc_security_group_ingress_rule" "nodes" {
  for_each = local.ports

  security_group_id = aws_security_group.nodes.id
  description       = each.key
  cidr_ipv4         = data.aws_vpc.network.cidr_block
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}

resource "aws_vpc_security_group_egress_rule" "nodes" {
  security_group_id = aws_security_group.nodes.id
  description       = "Packages and CrateDB's archive"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

resource "aws_instance" "node" {
  count = var.nodes

  ami                    = data.aws_ami.debian.id
  instance_type          = var.instance_type
  key_name               = var.key_name
  subnet_id              = var.subnet_id
  private_ip             = local.addresses[count.index]
  vpc_security_group_ids = [aws_security_group.nodes.id]

  user_data = templatefile("${path.module}/node.sh.tftpl", {
    address = local.addresses[count.index]
    first   = local.addresses[0]
    heap    = var.heap
    node    = count.index + 1
    version = var.crate_version
  })
  user_data_replace_on_change = true

  ebs_block_device {
    device_name           = "/dev/sdf"
    volume_type           = "gp3"
    volume_size           = var.volume_gib
    throughput            = var.volume_throughput
    iops                  = var.volume_iops
    delete_on_termination = true
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = { Name = "${var.name}-node${count.index + 1}" }

  lifecycle {
    # A newer image must not replace the nodes of a cluster that grows.
    ignore_changes = [ami]
  }
}

resource "aws_lb" "internal" {
  name               = var.name
  internal           = true
  load_balancer_type = "network"

  # A separate address, which no node will need.
  subnet_mapping {
    subnet_id            = var.subnet_id
    private_ipv4_address = cidrhost(data.aws_subnet.of_nodes.cidr_block, 9)
  }
}

resource "aws_lb_target_group" "http" {
  name        = "${var.name}-http"
  vpc_id      = data.aws_vpc.network.id
  target_type = "instance"
  protocol    = "TCP"
  port        = local.http_port
  # An ended node is not a failure to wait for.
  deregistration_delay = 0

  health_check {
    protocol = "HTTP"
    path     = "/"
    interval = 10
  }
}

resource "aws_lb_target_group_attachment" "http" {
  count = var.nodes

  target_group_arn = aws_lb_target_group.http.arn
  target_id        = aws_instance.node[count.index].id
  port             = local.http_port
}

resource "aws_lb_listener" "http" {
  load_balancer_arn = aws_lb.internal.arn
  protocol          = "TCP"
  port              = local.http_port

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.http.arn
  }
}
