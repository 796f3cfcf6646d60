import { join } from "node:path";
import { runnerImport } from "vite";
import { ROOT, summarise } from "../harness.mjs";

/** The hosts are installed on the first run, and each is started once. */
export const limitMs = 600_000;

/** What reading a file of 300 lines costs a context, of what each host's model is sent. One that cannot be had is left out. */
export async function measure() {
  const config = { root: ROOT, configFile: false, logLevel: "error", oxc: { target: "node20" } };
  const { module } = await runnerImport(join(ROOT, "test/support/hosts/shown-file.ts"), config);
  const shown = await module.showFile();
  const ratios = shown.map(({ ratio }) => ratio);
  return [
    {
      what: `reading a 300-line file, as ${shown.length} hosts show it`,
      unit: "x",
      measured: summarise(ratios),
      worst: Math.max(...ratios),
      most: 1.1,
      note: shown.map(({ host, ratio }) => `${host} ${ratio.toFixed(3)}`).join(", "),
    },
  ];
}
