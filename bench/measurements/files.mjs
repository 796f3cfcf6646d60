import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NEVER, compare } from "../harness.mjs";

const SIZES = [
  ["1 KB", 1_000, 20],
  ["10 MB", 10_000_000, 4],
];

/** Files through the guest, beside Node on the host's own temporary folder. */
export async function measure(home) {
  const { guest } = await home.create();
  const rows = [];
  for (const [name, size, each] of SIZES) {
    const content = Buffer.alloc(size, "x");
    const outside = join(home.folder, "file");
    const pairs = [
      { verb: "write", plain: () => writeFile(outside, content), inside: () => guest.files.write("file", content, { signal: NEVER }) },
      { verb: "read", plain: () => readFile(outside), inside: () => guest.files.read("file", { signal: NEVER }) },
    ];
    for (const { verb, plain, inside } of pairs) {
      const works = { reference: async () => void (await plain()), measured: async () => void (await inside()) };
      rows.push({ what: `${verb} a file of ${name}`, beside: `Node's own ${verb}`, ...(await compare({ ...works, each, settleMs: 0 })) });
    }
  }
  return rows;
}
