import { once } from "node:events";
import { MIB, NEVER, scaled, summarise } from "../harness.mjs";

const BYTES = scaled(1_000_000_000);
const SAMPLE_MS = 20;

/** How far this process's memory rises while 1 GB of a command's output runs through it. */
export async function measure(home) {
  const { guest } = await home.create();
  await stream(guest, BYTES / 50);
  const idle = process.memoryUsage.rss();
  const samples = [];
  const sample = () => samples.push((process.memoryUsage.rss() - idle) / MIB);
  const timer = setInterval(sample, SAMPLE_MS);
  const started = performance.now();
  await stream(guest, BYTES);
  const seconds = (performance.now() - started) / 1000;
  clearInterval(timer);
  sample(); // a quick one is over before the timer
  const worst = Math.max(...samples);
  const note = `${(BYTES / 1e9 / seconds).toFixed(2)} GB/s; idle ${(idle / MIB).toFixed(0)} MiB; at most ${worst.toFixed(1)} MiB above it`;
  return [{ what: "host memory above idle while 1 GB streams through", unit: "MiB", measured: summarise(samples), worst, most: 50, note }];
}

async function stream(guest, bytes) {
  const command = await guest.exec({ argv: ["/usr/bin/head", "-c", String(bytes), "/dev/zero"], stdin: false, signal: NEVER });
  command.stderr.resume();
  let seen = 0;
  command.stdout.on("data", (chunk) => (seen += chunk.length));
  await once(command.stdout, "end");
  await command.exited;
  if (seen !== bytes) throw new Error(`${seen} of ${bytes} bytes came`);
}
