import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { encodeFields, Fields, type Field } from "./fields.ts";
import { FIELDS_MAX_BYTES, TAG } from "./wire.ts";

const text = fc.string({ unit: "grapheme" }).filter((value) => !value.includes("\0"));

describe("fields", () => {
  it("are decoded as they were sent", () => {
    const sent = fc.record({
      args: fc.array(text),
      path: text,
      mode: fc.nat(0xffff_ffff),
      offset: fc.bigInt(0n, 2n ** 53n - 1n),
      value: fc.uint8Array(),
    });
    fc.assert(
      fc.property(sent, ({ args, path, mode, offset, value }) => {
        const list: Field[] = [
          ["PATH", path],
          ["MODE", mode],
          ["OFFSET", offset],
          ["VALUE", value],
        ];
        const fields = Fields.parse(encodeFields([...args.map((arg): Field => ["ARG", arg]), ...list]));
        expect(fields.all("ARG").map(String)).toEqual(args.map((arg) => Buffer.from(arg).toString()));
        expect([fields.number("MODE"), fields.bigint("OFFSET"), fields.number("OFFSET")]).toEqual([mode, offset, Number(offset)]);
        expect(fields.needBytes("VALUE").equals(value)).toBe(true);
        expect(fields.text("PATH")).toBe(Buffer.from(path).toString());
      }),
    );
  });

  it("that are undefined are left out", () => {
    expect(
      encodeFields([
        ["CWD", undefined],
        ["MODE", undefined],
      ]).length,
    ).toBe(0);
  });

  it("of any bytes are parsed or refused, without any other error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => isRefusedOr(() => Fields.parse(Buffer.from(bytes)))),
      { numRuns: 2_000 },
    );
  });

  it("that are cut off at any byte are refused", () => {
    const whole = encodeFields([
      ["PATH", "some/path"],
      ["MODE", 0o644],
    ]);
    for (let end = 1; end < whole.length; end++) {
      if (end === 5 + "some/path".length) continue;
      expect(() => Fields.parse(whole.subarray(0, end))).toThrow(BelljarError);
    }
  });

  it("that are unknown, repeated, of the wrong width or hold a NUL are refused", () => {
    const path = encodeFields([["PATH", "x"]]);
    const refused = [
      Buffer.from([200, 0, 0, 0, 0]),
      Buffer.concat([path, path]),
      Buffer.from([TAG.MODE.id, 0, 0, 0, 2, 1, 1]),
      Buffer.from([TAG.PATH.id, 0, 0, 0, 1, 0]),
      Buffer.from([TAG.PATH.id, 0xff, 0xff, 0xff, 0xff, 1]),
    ];
    for (const bytes of refused) expect(() => Fields.parse(bytes)).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
  });

  it("that do not fit the wire are refused before they are sent", () => {
    const refused: (readonly Field[])[] = [
      [["ARG", "x".repeat(FIELDS_MAX_BYTES)]],
      [["PORT", 65_536]],
      [["PORT", -1]],
      [["MODE", 1.5]],
      [["ARG", "a\0b"]],
    ];
    for (const fields of refused) expect(() => encodeFields(fields)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
    expect(() => encodeFields([["PATH", "a\0b"]])).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });

  it("that are missing are reported as a fault of the sender", () => {
    expect(() => Fields.parse(Buffer.alloc(0)).needNumber("PID")).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
  });
});

function isRefusedOr(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    return error instanceof BelljarError && error.code === "GUEST_PROTOCOL";
  }
}
