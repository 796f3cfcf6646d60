import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { gzipSync } from "node:zlib";
import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { openE2bLab } from "../../support/e2b-lab.ts";
import { openE2bInside } from "../../support/e2b-inside.ts";
import { headersOf } from "../../support/e2b-sandbox.ts";

const isRoot = process.getuid?.() === 0;

/** What is answered where a file of the sandbox's root would be written. In a sandbox that was made without root its one user owns them all. */
function ofRoot(path: string): readonly unknown[] {
  return isRoot ? [403, { code: 403, message: `permission denied: the user may not do that at '${path}'` }] : [200, [{ path }]];
}

it("lets whoever has a signed URL at that one file, until its end and after a restart", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  const other = await Sandbox.create(lab.options);
  await sandbox.files.write("s.txt", "signed");
  await other.files.write("s.txt", "other's");
  const get = async (url: string, init?: RequestInit): Promise<readonly [number, string]> => {
    const answer = await fetch(url, init);
    return [answer.status, await answer.text()];
  };
  const told = (message: string): readonly [number, string] => [401, JSON.stringify({ code: 401, message })];
  const url = await sandbox.downloadUrl("s.txt", { useSignatureExpiration: 600 });
  expect(await get(url)).toEqual([200, "signed"]);
  expect(await get(await other.downloadUrl("s.txt"))).toEqual([200, "other's"]);
  expect(await get(url.replace("s.txt", "t.txt"))).toEqual(told("invalid signature"));
  expect(await get(url.replace(/expiration=\d+/, "expiration=99999999999"))).toEqual(told("invalid signature"));
  expect(await get(await sandbox.downloadUrl("s.txt", { useSignatureExpiration: -10 }))).toEqual(told("signature is already expired"));
  expect(await get(`${lab.url}/files?path=s.txt`)).toEqual(told("missing signature query parameter"));
  const form = (): FormData => {
    const made = new FormData();
    made.append("file", "uploaded");
    return made;
  };
  expect(await get(url, { method: "POST", body: form() })).toEqual(told("invalid signature"));
  const upload = await sandbox.uploadUrl("up/load.txt", { useSignatureExpiration: 600 });
  expect(await get(upload, { method: "POST", body: form() })).toEqual([
    200,
    '[{"name":"load.txt","path":"/home/user/up/load.txt","type":"file"}]',
  ]);
  expect(await get(upload)).toEqual(told("invalid signature"));
  const elsewhere = { ...headersOf(other) } as Record<string, string>;
  delete elsewhere["x-access-token"];
  expect(await get(url, { headers: elsewhere })).toEqual(told("invalid signature"));
  await lab.restart();
  expect(await get(url)).toEqual([200, "signed"]);
  expect(await sandbox.files.read("up/load.txt")).toBe("uploaded");
  const { "x-access-token": token = "" } = headersOf(sandbox);
  expect(await get(`${lab.url}/files?path=s.txt`, { headers: { "x-access-token": token } })).toEqual([200, "signed"]);
});

it("answers ranges and conditions as HTTP has them, and gives a browser nothing that runs", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  await sandbox.files.write('p".html', "<script>0123456789</script>");
  await sandbox.files.write("ü\u2028.png", "x");
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Response> =>
    lab.ask(`/files?${new URLSearchParams({ path }).toString()}`, { method, headers: { ...headersOf(sandbox), ...headers } });
  const whole = await ask('p".html');
  expect([whole.status, whole.headers.get("content-length"), whole.headers.get("vary")]).toEqual([200, "27", "Accept-Encoding"]);
  expect(whole.headers.get("content-type")).toBe("application/octet-stream");
  expect(whole.headers.get("content-disposition")).toBe('inline; filename="p\\".html"');
  expect(whole.headers.get("content-security-policy")).toContain("sandbox");
  expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
  expect((await ask("ü\u2028.png")).headers.get("content-disposition")).toBe("inline; filename*=UTF-8''%C3%BC%E2%80%A8.png");
  const part = await ask('p".html', { range: "bytes=8-11", "accept-encoding": "gzip" });
  expect([part.status, await part.text(), part.headers.get("content-range"), part.headers.get("content-encoding")]).toEqual([
    206,
    "0123",
    "bytes 8-11/27",
    null,
  ]);
  const beyond = await ask('p".html', { range: "bytes=27-" });
  expect([beyond.status, beyond.headers.get("content-range"), await beyond.text()]).toEqual([416, "bytes */27", ""]);
  const same = await ask('p".html', { "if-none-match": String(whole.headers.get("etag")) });
  expect([same.status, await same.text()]).toEqual([304, ""]);
  const head = await ask('p".html', {}, "HEAD");
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, null, ""]);
  const packed = await ask('p".html', { "accept-encoding": "gzip" });
  expect([packed.headers.get("content-encoding"), await packed.text()]).toEqual(["gzip", "<script>0123456789</script>"]);
  const none = await ask('p".html', { "accept-encoding": "identity;q=0, br" });
  expect([none.status, await none.json()]).toMatchObject([406, { code: 406 }]);
});

it("serves hostile uploads within bounds, and leaves the old file where one is cut", async () => {
  await using lab = await openE2bLab();
  const sandbox = await Sandbox.create(lab.options);
  const { files } = sandbox;
  const token = headersOf(sandbox);
  const post = async (
    query: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly [number, Readonly<Record<string, unknown>>]> => {
    const answer = await lab.ask(`/files${query}`, { method: "POST", headers: { ...token, ...headers }, body });
    return [answer.status, (await answer.json()) as Readonly<Record<string, unknown>>];
  };
  const FORM = { "content-type": "multipart/form-data; boundary=b" };
  const BYTES = { "content-type": "application/octet-stream" };
  const part = (name: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n`;
  const form = (...names: readonly string[]): string => `${names.map((name) => part(name, name)).join("")}--b--\r\n`;

  const names = Array.from({ length: 1_000 }, (_, at) => `many/${at}`);
  expect(await post("", form(...names), FORM)).toMatchObject([200, expect.objectContaining({ length: 1_000 })]);
  expect(await files.list("many")).toHaveLength(1_000);
  const above = `../../../../../../../..${lab.cli.folder}/escaped`;
  expect(await post("", form(above), FORM)).toMatchObject([200, [{ path: `${lab.cli.folder}/escaped` }]]);
  expect(existsSync(`${lab.cli.folder}/escaped`), "of the host").toBe(false);
  expect(await post("", form("../x"), FORM)).toMatchObject(ofRoot("/home/x"));
  expect(await post("", form("twice", "./twice"), FORM)).toMatchObject([
    400,
    { message: expect.stringContaining("multiple files to the same path '/home/user/twice'") as string },
  ]);
  expect(await files.read("twice")).toBe("twice");
  expect(await post("", form("x").slice(0, -10), FORM)).toMatchObject([400, { code: 400 }]);
  expect(await post("", "nothing", { "content-type": "multipart/form-data" })).toMatchObject([400, { code: 400 }]);
  expect(await post("", "x", BYTES)).toMatchObject([400, { message: "path query parameter is required for raw body upload" }]);
  expect(await post("?path=a&path=b", "x", BYTES)).toMatchObject([400, { code: 400 }]);
  expect(await post("?path=z", "no gzip", { ...BYTES, "content-encoding": "gzip" })).toMatchObject([400, { code: 400 }]);
  expect(await post("?path=z", gzipSync("packed").subarray(0, -3), { ...BYTES, "content-encoding": "gzip" })).toMatchObject([
    400,
    { code: 400 },
  ]);
  expect(await post("?path=z", "x", { ...BYTES, "content-encoding": "br" })).toMatchObject([400, { code: 400 }]);
  expect(await files.exists("z")).toBe(false);
  expect(await post("?path=m", "x", { ...BYTES, "x-metadata-k": "\u00fc" })).toMatchObject([400, { code: 400 }]);
  expect(
    await post("?path=m", "x", {
      ...BYTES,
      ...Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x-metadata-${at}`, "v".repeat(100)])),
    }),
  ).toMatchObject([400, { code: 400 }]);
  expect(await post("?path=many", "x", BYTES)).toMatchObject([400, { message: "path '/home/user/many' is a directory" }]);
  expect(await post("?path=many/1/below", "x", BYTES)).toMatchObject([400, { code: 400 }]);
  expect(await post("?path=~other/x", "x", BYTES)).toMatchObject([400, { code: 400 }]);
  expect(await post("?path=x", "{}", { "content-type": "application/json" })).toMatchObject([415, { code: 415 }]);

  // A client that goes away in the middle.
  await files.write("old", "old");
  for (const [headers, begin] of [
    [FORM, part("old", "x".repeat(100_000))],
    [BYTES, "x".repeat(100_000)],
  ] as const) {
    const cut = request(`${lab.url}/files?path=old`, { method: "POST", headers: { ...token, ...headers, "content-length": "10000000" } });
    const closed = new Promise((resolve) => cut.on("close", resolve).on("error", () => undefined));
    await new Promise((resolve) => cut.write(begin, resolve));
    cut.destroy();
    await closed;
  }
  expect(await files.read("old")).toBe("old");

  // Several files become one.
  const compose = (body: unknown): Promise<readonly [number, Readonly<Record<string, unknown>>]> =>
    post("/compose", JSON.stringify(body), { "content-type": "application/json" });
  await files.write([
    { path: "c/1", data: "one " },
    { path: "c/2", data: "two" },
  ]);
  expect(await compose({ source_paths: ["c/1", "c/2", "c/1"], destination: "c/d/whole" })).toMatchObject([
    200,
    { path: "/home/user/c/d/whole", type: "FILE_TYPE_FILE", size: "11" },
  ]);
  expect([await files.read("c/d/whole"), (await files.list("c")).map(({ name }) => name)]).toEqual(["one twoone ", ["d"]]);
  for (const [wrong, status] of [
    [{ source_paths: ["c/1"], destination: "x" }, 404],
    [{ source_paths: ["c/d"], destination: "x" }, 400],
    [{ source_paths: ["old"], destination: "./old" }, 400],
    [{ source_paths: [], destination: "x" }, 400],
    [{ source_paths: ["old"] }, 400],
    [{ source_paths: ["old"], destination: "x", username: "nobody-here" }, 401],
  ] as const)
    expect((await compose(wrong))[0], JSON.stringify(wrong)).toBe(status);

  // Links and names lead nowhere outside.
  const inside = await openE2bInside(lab);
  await inside.run(sandbox.sandboxId, "ln -s /etc/passwd ~/trap; ln -s ../../../../../../etc ~/up");
  const accounts = readFileSync("/etc/passwd", "utf8");
  expect(await post("?path=trap", "x", BYTES)).toMatchObject(ofRoot("/home/user/trap"));
  expect(await post("", form("up/mine"), FORM)).toMatchObject(ofRoot("/home/user/up/mine"));
  expect([readFileSync("/etc/passwd", "utf8"), existsSync("/etc/mine")], "of the host").toEqual([accounts, false]);
});

it("tells of a full disk with 507", async () => {
  await using lab = await openE2bLab({
    env: { BELLJAR_STORAGE: "tmpfs", BELLJAR_SANDBOX_DISK_BYTES: "16m", BELLJAR_SANDBOX_MEMORY_BYTES: "256m" },
  });
  const sandbox = await Sandbox.create(lab.options);
  const bytes = new ArrayBuffer(24 * 2 ** 20);
  for (const options of [{}, { useOctetStream: true }, { gzip: true }])
    await expect(sandbox.files.write("big", bytes, options)).rejects.toMatchObject({ name: "NotEnoughSpaceError" });
  expect(await sandbox.files.list(".").then((all) => all.filter(({ name }) => !/^\.(?:bashrc|profile)$/.test(name)))).toEqual([]);
  await sandbox.files.write("small", "fits");
});
