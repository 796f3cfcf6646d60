import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { PackageSettings } from "../../src/packages/package-index.ts";
import type { Egress } from "../../src/network/egress.ts";
import { RefusalLog } from "../../src/network/refusal-log.ts";
import { createEgress } from "../../src/network/egress/create-egress.ts";
import { NO_LISTENERS } from "./no-listeners.ts";
import { tarArchive } from "./tar-archive.ts";
import { zipArchive } from "./zip-archive.ts";

/** An index for pip and a registry for npm on loopback, and the way of sandboxes to them. */
export interface PackageLab extends AsyncDisposable {
  readonly settings: Required<PackageSettings>;
  readonly egress: Egress;
  /** What it refuses. */
  readonly refusals: RefusalLog;
  /** Paths that were asked for, of both. */
  readonly asked: string[];
  /** A wheel with one module of that name, or any other file. */
  offer(file: string, content: Buffer): void;
  /** A package of npm, whose module is this. `install`: code that it wants to run when it is installed. */
  offerNpm(name: string, version: string, module: string, install?: string): void;
  /** A package of npm with programs: by their names, the code of each. `more`: fields of its package.json. */
  offerPrograms(name: string, version: string, programs: Readonly<Record<string, string>>, more?: object): void;
}

export async function openPackageLab(): Promise<PackageLab> {
  const asked: string[] = [];
  const files = new Map<string, Buffer>();
  const modules = new Map<string, Map<string, NpmPackage>>();
  const pip = await serve(asked, (request, response) => {
    const [, project] = /^\/simple\/([^/]+)\/$/.exec(request.url ?? "") ?? [];
    const file = files.get((request.url ?? "").slice("/files/".length));
    if (file) return void response.end(file);
    const links = [...files.keys()].filter((name) => name.startsWith(`${project}-`));
    if (links.length === 0) return void response.writeHead(404).end();
    const html = links.map((name) => `<a href="/files/${name}">${name}</a>`).join("\n");
    return void response.setHeader("content-type", "text/html").end(html);
  });
  const npm: Server = await serve(asked, (request, response) => {
    const [, name = "", version] = /^\/((?:@[^/]+\/)?[^/]+?)(?:\/-\/(.+)\.tgz)?$/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const offered = modules.get(name);
    if (!offered) return void response.writeHead(404).end();
    if (version !== undefined) return void response.end(offered.get(version)?.archive);
    return void response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify(packument(`http://npm.test:${portOf(npm)}`, name, offered)));
  });
  const add = (manifest: NpmManifest, files: Readonly<Record<string, string>>): void => {
    const offered = modules.get(manifest.name) ?? new Map<string, NpmPackage>();
    modules.set(manifest.name, offered.set(manifest.version, { manifest, archive: npmArchive(manifest, files) }));
  };
  const refusals = new RefusalLog();
  const egress = createEgress({
    listeners: NO_LISTENERS,
    record: (record) => refusals.note(record),
    resolver: { resolve: async (host) => (host.endsWith(".test") ? ["127.0.0.1"] : Promise.reject(new TypeError("no such name"))) },
  });
  return {
    settings: { indexUrl: `http://pip.test:${portOf(pip)}/simple`, registryUrl: `http://npm.test:${portOf(npm)}/` },
    egress,
    refusals,
    asked,
    offer: (file, content) => void files.set(file, content),
    offerNpm: (name, version, module, install = "") =>
      add(
        { name, version, main: "index.js", hasInstallScript: true, ...(install !== "" && { scripts: { install: "node install.js" } }) },
        { "index.js": module, "install.js": install },
      ),
    offerPrograms(name, version, programs, more = {}) {
      const bin = Object.fromEntries(Object.keys(programs).map((program) => [program, `${program}.mjs`]));
      const files = Object.entries(programs).map(([program, code]) => [`${program}.mjs`, `#!/usr/bin/env node\n${code}`]);
      add({ name, version, bin, ...more }, Object.fromEntries(files) as Record<string, string>);
    },
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      for (const server of [pip, npm]) server.close();
    },
  };
}

/** The name of a wheel, and its bytes: one module of Python, and other files beside it. */
export function makeWheel(
  name: string,
  version: string,
  module: string,
  beside: Readonly<Record<string, string>> = {},
): readonly [string, Buffer] {
  const info = `${name}-${version}.dist-info`;
  const files = {
    ...beside,
    [`${name}.py`]: module,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
  };
  const record = [...Object.keys(files), `${info}/RECORD`].map((path) => `${path},,\n`).join("");
  return [`${name}-${version}-py3-none-any.whl`, zipArchive({ ...files, [`${info}/RECORD`]: record })];
}

interface NpmManifest {
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface NpmPackage {
  readonly manifest: NpmManifest;
  readonly archive: Buffer;
}

function npmArchive(manifest: object, files: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries({ "package.json": JSON.stringify(manifest), ...files });
  return gzipSync(tarArchive(...entries.map(([name, content]) => ({ name: `package/${name}`, content }))));
}

function packument(url: string, name: string, offered: ReadonlyMap<string, NpmPackage>): object {
  const versions = [...offered].map(([version, { manifest, archive }]) => {
    const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
    return [version, { ...manifest, dist: { tarball: `${url}/${name}/-/${version}.tgz`, integrity } }];
  });
  return { name, "dist-tags": { latest: [...offered.keys()].at(-1) }, versions: Object.fromEntries(versions) };
}

async function serve(asked: string[], answer: RequestListener): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
