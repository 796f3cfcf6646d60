import { expect, it } from "vitest";
import { takePicture } from "./computer-screenshot.ts";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0xff, 0xd9]);

interface Output {
  readonly stdout: Buffer;
  readonly truncated: boolean;
}

/** A display whose programs write these, one after another. */
function showing(...outputs: readonly Output[]) {
  const left = [...outputs];
  return { picture: async () => left.shift() ?? { stdout: Buffer.alloc(0), truncated: false } };
}

const whole = (stdout: Buffer): Output => ({ stdout, truncated: false });
const cut: Output = { stdout: PNG, truncated: true };

it("gives a picture as it is, and as JPEG where it would be too large", async () => {
  expect(await takePicture(showing(whole(PNG)))).toEqual({ bytes: PNG, mimeType: "image/png" });
  expect(await takePicture(showing(cut, whole(JPEG)))).toEqual({ bytes: JPEG, mimeType: "image/jpeg" });
});

it.each([
  ["FILE_TOO_LARGE", showing(cut, cut)],
  ["ACTION_FAILED", showing(whole(Buffer.from("no picture")))],
  ["ACTION_FAILED", showing(whole(Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>")))],
  ["ACTION_FAILED", showing(whole(Buffer.alloc(0)))],
])("answers %s for what is no picture that a model can be given (%#)", async (code, display) => {
  await expect(takePicture(display)).rejects.toMatchObject({ code });
});
