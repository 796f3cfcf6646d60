import type { PoolHoldings } from "../contract/runtime.ts";

/** What the native binary prints: the pool's size and use, then a line for each sandbox and each frozen layer. */
export function parseHoldings(text: string, hostBytes: number): PoolHoldings {
  const sandboxes = new Map<string, number>();
  let [sizeBytes, usedBytes, layers] = [0, 0, 0];
  for (const line of text.split("\n")) {
    const [kind, first = "", second] = line.split(" ");
    if (kind === "pool") [sizeBytes, usedBytes] = [Number(first), Number(second)];
    else if (kind === "sandbox") sandboxes.set(first, Number(second));
    else if (kind === "layer") layers += 1;
  }
  return { sizeBytes, usedBytes, hostBytes, sandboxes, layers };
}
