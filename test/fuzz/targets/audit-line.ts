import { deepStrictEqual, equal, ok } from "node:assert/strict";
import { LINE_MAX_BYTES, parseAuditLine, serialiseFields, toHead, toLine } from "../../../src/audit/audit-line.ts";
import { splitLines } from "../../../src/audit/read-lines.ts";
import { pureTarget } from "../fuzz-target.ts";
import { refused } from "./refused.ts";

const MAC = "0123456789abcdef".repeat(4);
const AT = "2026-01-01T00:00:00.000Z";

/** A line as somebody left it, and one that says these bytes: what is written is one line, and says the same when it is read. */
export const auditLine = pureTarget({
  seeds: [`{"sequence":1,"at":"${AT}","kind":"call","tool":"x","mac":"${MAC}"}`, "\u2028\u202e\u0007\n", '","mac":"'],
  words: ['"mac":"', MAC, '"sequence":', "\u2028", "\\u2028", "__proto__", "1e400", "\u001b["],
  run(input) {
    refused(() => {
      const { head, mac } = parseAuditLine(input);
      equal(Buffer.compare(Buffer.concat([head, Buffer.from(`,"mac":"${mac}"}`)]), input), 0);
    });
    const preview = input.toString();
    const line = Buffer.from(toLine(toHead(7, serialiseFields({ at: AT, kind: "call", preview })), MAC));
    const lines = splitLines(line);
    ok(lines.length === 1 && line.length <= LINE_MAX_BYTES);
    ok(!/[^\n -~]/.test(line.toString("latin1").replaceAll(/[\u0080-\u00ff]/g, "x")), "a control character stands raw");
    deepStrictEqual(parseAuditLine(line.subarray(0, -1)).fields, { sequence: 7, at: AT, kind: "call", preview: asWritten(preview) });
  },
});

/** JSON keeps every text, single surrogates included. */
function asWritten(text: string): unknown {
  return JSON.parse(JSON.stringify(text));
}
