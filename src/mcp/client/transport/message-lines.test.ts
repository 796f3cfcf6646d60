import { describe, expect, it } from "vitest";
import { MESSAGE_MAX_BYTES, MessageLines } from "./message-lines.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const line = `${JSON.stringify(ping)}\n`;

describe("messages on lines", () => {
  it.each([
    ["in one chunk", [line]],
    ["in single bytes", line.split("")],
    ["with a line end of two characters", [line.replace("\n", "\r\n")]],
    ["behind and before what is none", [`starting ...\n{"level":"info"}\n${line}{"jsonrpc"`, ":\n"]],
  ])("are read %s", (_what, chunks) => {
    const lines = new MessageLines();
    expect(chunks.flatMap((chunk) => [...lines.read(Buffer.from(chunk))])).toEqual([ping]);
  });

  it("may be as large as the bound, also in chunks of a few bytes", () => {
    const lines = new MessageLines();
    const piece = Buffer.alloc(16, " ");
    const rest = MESSAGE_MAX_BYTES - line.length + 1;
    for (let left = rest; left > 0; left -= piece.length) lines.read(piece.subarray(0, Math.min(left, piece.length))).next();
    expect([...lines.read(Buffer.from(line))]).toEqual([ping]);
  });

  it.each([
    ["that ends", [" ".repeat(MESSAGE_MAX_BYTES + 1), "\n"]],
    ["that ends at once", [`${" ".repeat(MESSAGE_MAX_BYTES + 1)}\n`]],
    ["that never ends", [" ".repeat(MESSAGE_MAX_BYTES), " "]],
  ])("are refused if one is larger than the bound, %s", (_what, chunks) => {
    const lines = new MessageLines();
    expect(() => chunks.flatMap((chunk) => [...lines.read(Buffer.from(chunk))])).toThrow(
      expect.objectContaining({ code: "RESULT_TOO_LARGE" }) as Error,
    );
  });

  it("are refused if one has very many values, however few its bytes are, and logs of that kind are passed over", () => {
    const values = "[],".repeat(200_000);
    expect([...new MessageLines().read(Buffer.from(`[${values}0]\n${values}\n${line}`))]).toEqual([ping]);
    const large = Buffer.from(`{"jsonrpc":"2.0","method":"x","params":{"a":[${values}0]}}\n`);
    expect(() => [...new MessageLines().read(large)]).toThrow(expect.objectContaining({ code: "RESULT_TOO_LARGE" }) as Error);
  });
});
