import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

it("shows images as images, by their bytes and not by their name", async () => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "picture.txt", content: PNG, encoding: "base64" });
  const size = Buffer.from(PNG, "base64").length;
  const result = await tools.call("read_file", { path: "picture.txt" });
  expect(result.content).toEqual([
    { type: "text", text: `/home/user/picture.txt: image/png, ${size} bytes` },
    { type: "image", data: PNG, mimeType: "image/png" },
  ]);
  expect(result.value).toMatchObject({ mime_type: "image/png", size, content: "", truncated: false });
  const asked = await tools.call("read_file", { path: "picture.txt", encoding: "base64" });
  expect(asked.value).toMatchObject({ content: PNG, encoding: "base64" });
});

it.each([
  ["/9j/4AA=", "image/jpeg"],
  [Buffer.from("GIF89a...").toString("base64"), "image/gif"],
  [Buffer.from("RIFF1234WEBPVP8 ").toString("base64"), "image/webp"],
])("knows %s as %s", async (content, mimeType) => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "a", content, encoding: "base64" });
  expect((await tools.call("read_file", { path: "a" })).value).toMatchObject({ mime_type: mimeType });
});

it("refuses an image that no model takes", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "printf 'GIF89a' > a; truncate -s 50M a" });
  expect(textOf(await tools.call("read_file", { path: "a" }))).toMatch(/^FILE_TOO_LARGE: The image "a"/);
});

it("takes a PDF for one by its bytes, and says what is missing or wrong", async () => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "a", content: "%PDF-1.4\nbroken\n" });
  const { value: which } = await tools.call("run_command", { command: "command -v pdftotext || true" });
  const hasProgram = which?.["stdout"] !== "";
  expect(textOf(await tools.call("read_file", { path: "a" }))).toMatch(
    hasProgram ? /^FILE_NOT_TEXT: The PDF "a" gives no text: / : / a PDF, which needs poppler-utils: try /,
  );
  expect((await tools.call("read_file", { path: "a", encoding: "utf-8", end_line: 1 })).value).toMatchObject({
    content: "%PDF-1.4\n",
  });
});

it("describes what is no text instead of printing it, and gives its bytes when asked", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "head -c 50000000 /dev/zero | tr '\\0' '\\377' > a; printf 'text\\0more' > b" });
  const result = await tools.call("read_file", { path: "a" });
  expect(result.value).toMatchObject({ content: "", encoding: "base64", size: 50_000_000, truncated: true });
  expect(textOf(result)).toMatch(/^\[\/home\/user\/a: binary, 50000000 bytes, not UTF-8 text; it begins with ff ff .*"base64".*\]$/);
  expect(textOf(await tools.call("read_file", { path: "b" }))).toMatch(/: binary, 9 bytes, .* begins with 74 65 78 74 00/);
  const bytes = await tools.call("read_file", { path: "a", encoding: "base64" });
  expect(bytes.value).toMatchObject({ truncated: true, content: expect.stringMatching(/^\/{16384}$/) });
  expect(textOf(bytes)).toContain("[Cut: 12288 of 50000000 bytes are shown");
});
