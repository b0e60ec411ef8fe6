// Generates rows of the `cpu` workload as bulk bodies, as a Node.js tool would: an object of tags per
// host, random walks with Math.random, JSON.stringify for each batch. Sends nothing. Prints rows per
// second of CPU time. Arguments: rows per batch, number of batches.

const batch = Number(process.argv[2]);
const batches = Number(process.argv[3]);
const HOSTS = 4000;
const METRICS = 10;
const WARM_UP = 20;

const pick = (values) => values[Math.floor(Math.random() * values.length)];
const hosts = Array.from({ length: HOSTS }, (_, n) => ({
  tags: {
    hostname: `host_${n}`,
    region: pick(["us-east-1", "eu-west-1", "eu-central-1", "ap-southeast-1", "sa-east-1"]),
    datacenter: pick(["us-east-1a", "eu-west-1b", "eu-central-1a", "ap-southeast-1b"]),
    rack: String(Math.floor(Math.random() * 100)),
    os: pick(["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"]),
    arch: pick(["x64", "x86"]),
    team: pick(["SF", "NYC", "LON", "CHI"]),
    service: String(Math.floor(Math.random() * 20)),
    service_version: String(Math.floor(Math.random() * 2)),
    service_environment: pick(["production", "staging", "test"]),
  },
  metrics: Array.from({ length: METRICS }, () => Math.random() * 100),
}));

const stmt = `INSERT INTO "cpu" VALUES (${Array(METRICS + 2).fill("?").join(",")})`;
let row = 0;
let bytes = 0;

const body = () => {
  const rows = new Array(batch);
  for (let i = 0; i < batch; i += 1, row += 1) {
    const host = hosts[row % HOSTS];
    const values = new Array(METRICS + 2);
    values[0] = host.tags;
    values[1] = 1451606400000 + Math.floor(row / HOSTS) * 10000;
    for (let m = 0; m < METRICS; m += 1) {
      const step = host.metrics[m] + (Math.random() + Math.random() - 1) * 2.4;
      host.metrics[m] = Math.min(Math.max(step, 0), 100);
      values[m + 2] = Math.floor(host.metrics[m]);
    }
    rows[i] = values;
  }
  return JSON.stringify({ stmt, bulk_args: rows });
};

for (let n = 0; n < WARM_UP; n += 1) bytes += body().length;
const begin = process.cpuUsage();
for (let n = 0; n < batches; n += 1) bytes += body().length;
const used = process.cpuUsage(begin);
if (bytes === 0) process.exit(1);
console.log((batch * batches * 1e6) / (used.user + used.system));
