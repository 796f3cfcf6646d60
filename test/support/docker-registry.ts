import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BlobStore, Descriptor } from "./image-maker.ts";
import { temporaryFolder } from "./image-maker.ts";
import { BASIC } from "./registry-lab.ts";

const PROGRAM = "/usr/bin/docker-registry";
/** The password of `USER`, as `htpasswd -B` writes it. */
const HTPASSWD = "anna:$2y$05$u2mi25xTqqEj5X/0d.SeyOQlcrX8Mg2WEqmFUQGueyyCHC.V8WYd2\n";

export const hasDockerRegistry = existsSync(PROGRAM);

export interface DockerRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`, which is a rule too. */
  readonly authority: string;
  /** Uploads all blobs of the store, and the manifests by their digests and tags. */
  push(store: BlobStore, manifests: Readonly<Record<string, Descriptor>>): Promise<void>;
}

/** Debian's `docker-registry` on a free port of this machine. `USER` alone may use it. */
export async function startDockerRegistry(): Promise<DockerRegistry> {
  const folder = await temporaryFolder();
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder.path, "data") } },
    http: { addr: "127.0.0.1:0", secret: "of the test" },
    auth: { htpasswd: { realm: "test", path: join(folder.path, "htpasswd") } },
  };
  await writeFile(join(folder.path, "htpasswd"), HTPASSWD);
  // YAML takes JSON.
  await writeFile(join(folder.path, "config.yml"), JSON.stringify(config));
  const child = spawn(PROGRAM, ["serve", join(folder.path, "config.yml")], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const authority = await listening(createInterface(child.stderr));
  return {
    authority,
    async push(store, manifests) {
      for (const [digest, bytes] of store.blobs) await pushBlob(authority, digest, bytes);
      for (const [name, { digest, mediaType }] of Object.entries(manifests))
        await send(`http://${authority}/v2/team/app/manifests/${name}`, "PUT", store.blobs.get(digest), mediaType);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function listening(lines: AsyncIterable<string>): Promise<string> {
  const seen: string[] = [];
  for await (const line of lines) {
    seen.push(line);
    const authority = /listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (authority !== undefined) return authority;
  }
  throw new TypeError(`docker-registry ended: ${seen.join("\n")}`);
}

async function pushBlob(authority: string, digest: string, bytes: Uint8Array): Promise<void> {
  const upload = await send(`http://${authority}/v2/team/app/blobs/uploads/`, "POST");
  const url = new URL(upload.headers.get("location") ?? "");
  url.searchParams.set("digest", digest);
  await send(url.href, "PUT", bytes);
}

async function send(url: string, method: string, body?: Uint8Array, type = "application/octet-stream"): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { authorization: BASIC, "content-type": type },
    ...(body && { body: new Blob([body]) }),
  });
  if (!response.ok) throw new TypeError(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}
