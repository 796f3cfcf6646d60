import { expect, it } from "vitest";
import { parseListening } from "./listening-ports.ts";

const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, state = "0A", uid = 1000): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid}        0 123 1 0000000000000000 100 0 0 10 0\n`;

it("reads listening ports and their addresses", () => {
  const table = HEAD + row("0100007F:1F90") + row("00000000:0050", "0A", 0) + row("0100007F:1F91", "01");
  expect(parseListening(table)).toEqual([
    { port: 8080, address: "127.0.0.1", uid: 1000 },
    { port: 80, address: "0.0.0.0", uid: 0 },
  ]);
});

it("reads IPv6 addresses", () => {
  const rows = row("00000000000000000000000001000000:1F90") + row("00000000000000000000000000000000:1F91");
  expect(parseListening(rows).map(({ address }) => address)).toEqual(["::1", "::"]);
});

it("ignores malformed rows", () => {
  for (const bad of [
    "",
    "x",
    row("0100007F:1F9"),
    row("0100007G:1F90"),
    row("0100007F0:1F90"),
    row("0100007F:1F90").replace("1000", "-1"),
  ]) {
    expect(parseListening(bad)).toEqual([]);
  }
});
