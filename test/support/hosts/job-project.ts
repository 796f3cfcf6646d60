import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const LINES = 300;
export const LONG_FILE = Array.from({ length: LINES }, (_, index) => `export const part${index} = { name: "part ${index}" };\n`).join("");
export const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
/** Short lines: 16 KiB of them are more than the lines that some hosts show. */
export const CASES = 5_000;

const FILLER = "# ...\n".repeat(20);
export const toPrice = (price: number, last = ""): string => `# What a part costs.\n${FILLER}price=${price}\n${FILLER}${last}`;

/** Its check prints much, and fails until the price is right. */
const FILES: Readonly<Record<string, string | Buffer>> = {
  "parts.ts": LONG_FILE,
  "price.sh": toPrice(12),
  "check.sh": `. ./price.sh\nfor i in $(seq 1 ${CASES}); do echo "ok $i"; done\n[ $price = 14 ] && echo "all is well"\n`,
  "notes.txt": "Notes\n",
  "logo.png": PICTURE,
};

/** A repository with one commit. */
export async function makeProject(folder: string): Promise<void> {
  await mkdir(folder);
  await Promise.all(Object.entries(FILES).map(([name, content]) => writeFile(join(folder, name), content)));
  const who = ["-c", "user.name=A person", "-c", "user.email=person@example.com"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-qm", "Begin"],
  ])
    await promisify(execFile)("git", ["-C", folder, ...who, ...args]);
}
