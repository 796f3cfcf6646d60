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
    hasProgram ? /^FILE_NOT_TEXT: The PDF "a" gives no text: / : /\[A PDF, and the sandbox has no pdftotext \(package poppler-utils\)/,
  );
  expect((await tools.call("read_file", { path: "a", encoding: "utf-8", end_line: 1 })).value).toMatchObject({
    content: "%PDF-1.4\n",
  });
});

it("shows a part of a large binary file, and says so", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "head -c 50000000 /dev/zero | tr '\\0' '\\377' > a" });
  const result = await tools.call("read_file", { path: "a" });
  expect(result.value).toMatchObject({ encoding: "base64", size: 50_000_000, truncated: true });
  expect(String(result.value["content"]).length).toBe(65_536);
  expect(textOf(result)).toContain("[Cut: 49152 of 50000000 bytes are shown");
});
