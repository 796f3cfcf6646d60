import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const IDENTITY = ["-c", "user.name=Test", "-c", "user.email=test@example.test"];

/** Serves a folder's files, as a static web server does. */
export function serveFolder(folder: string): RequestListener {
  return (request, response) => {
    const path = new URL(request.url ?? "/", "http://any.test").pathname;
    createReadStream(join(folder, path))
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  };
}

/** A bare repository with one commit, ready for git's dumb HTTP. */
export async function makeRepository(folder: string): Promise<void> {
  const [work, bare] = [join(folder, "work"), join(folder, "repo.git")];
  await mkdir(work, { recursive: true });
  await writeFile(join(work, "README"), "cloned through the way out\n");
  await run("git", ["init", "-q", work]);
  await run("git", ["-C", work, "add", "README"]);
  await run("git", ["-C", work, ...IDENTITY, "commit", "-q", "-m", "First"]);
  await run("git", ["clone", "-q", "--bare", work, bare]);
  await run("git", ["-C", bare, "update-server-info"]);
}

/** An npm registry with the one package `tiny`. `url` is what it is reached by. */
export async function makeNpmRegistry(folder: string, url: () => string): Promise<RequestListener> {
  const source = join(folder, "package");
  await mkdir(source, { recursive: true });
  const manifest = { name: "tiny", version: "1.0.0", main: "index.js" };
  await writeFile(join(source, "package.json"), JSON.stringify(manifest));
  await writeFile(join(source, "index.js"), 'module.exports = "tiny from npm";\n');
  await run("tar", ["-czf", join(folder, "tiny.tgz"), "-C", folder, "package"]);
  const archive = await readFile(join(folder, "tiny.tgz"));
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  return (request, response) => {
    if (request.url === "/tiny.tgz") return void response.end(archive);
    if (request.url !== "/tiny") return void response.writeHead(404).end();
    const dist = { tarball: `${url()}/tiny.tgz`, integrity };
    const packument = { name: "tiny", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": { ...manifest, dist } } };
    return void response.setHeader("content-type", "application/json").end(JSON.stringify(packument));
  };
}

const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tiny.py", "said = 'tiny from pip'\\n")
    wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n")
`;

/** A package index for pip with the one package `tiny`. */
export async function makePipIndex(folder: string): Promise<RequestListener> {
  await mkdir(folder, { recursive: true });
  const name = "tiny-1.0-py3-none-any.whl";
  await run("python3", ["-c", WHEEL, join(folder, name)]);
  const wheel = await readFile(join(folder, name));
  return (request, response) => {
    if (request.url === `/files/${name}`) return void response.end(wheel);
    if (request.url !== "/simple/tiny/") return void response.writeHead(404).end();
    return void response.setHeader("content-type", "text/html").end(`<a href="/files/${name}">${name}</a>`);
  };
}

const CONTROL = "Package: belljar-tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: Test <test@example.test>\nDescription: tiny\n";

/** As the scripts of real packages: an account of its own, files of that account and a program with the set-uid bit. */
const POSTINST = `#!/bin/sh -e
useradd --system --no-create-home belljar-tiny
mkdir /var/lib/belljar-tiny
chown belljar-tiny:belljar-tiny /var/lib/belljar-tiny
chmod 4755 /usr/bin/belljar-tiny
`;

/** An archive for apt, without signatures, with the one package `belljar-tiny`. Needs `dpkg-deb`. */
export async function makeAptArchive(folder: string): Promise<RequestListener> {
  const [source, index] = [join(folder, "source"), join(folder, "dists/tiny/main/binary-all")];
  for (const path of ["DEBIAN", "usr/share/belljar-tiny", "usr/bin", "usr/lib/python3/dist-packages"])
    await mkdir(join(source, path), { recursive: true, mode: 0o755 });
  await mkdir(index, { recursive: true, mode: 0o755 });
  await writeFile(join(source, "DEBIAN/control"), CONTROL);
  await writeFile(join(source, "usr/share/belljar-tiny/said"), "tiny from apt\n");
  await writeFile(join(source, "DEBIAN/postinst"), POSTINST, { mode: 0o755 });
  await writeFile(join(source, "usr/bin/belljar-tiny"), "#!/bin/sh\ncat /usr/share/belljar-tiny/said\n", { mode: 0o755 });
  await writeFile(join(source, "usr/lib/python3/dist-packages/belljar_tiny.py"), "said = True\n");
  const archive = join(folder, "tiny.deb");
  await run("dpkg-deb", ["--root-owner-group", "-b", source, archive]);
  const packages = `${CONTROL}Filename: tiny.deb\nSize: ${(await stat(archive)).size}\nSHA256: ${sha256(await readFile(archive))}\n\n`;
  await writeFile(join(index, "Packages"), packages);
  const row = ` ${sha256(packages)} ${packages.length} main/binary-all/Packages\n`;
  const release = `Suite: tiny\nCodename: tiny\nArchitectures: all\nComponents: main\nDate: ${new Date().toUTCString()}\nSHA256:\n${row}`;
  await writeFile(join(folder, "dists/tiny/Release"), release);
  return serveFolder(folder);
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
