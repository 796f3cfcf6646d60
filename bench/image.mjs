/** An OCI image layout with much in it, made by hand. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./harness.mjs";

const PER_FOLDER = 100;
const ARCHITECTURES = { x64: "amd64" };

/** Layers with so many files each, of so many bytes. The lowest has a program, `/true`. Returns the paths of their archives, the lowest first. */
export function makeImage(folder, { layers, files, bytes }) {
  const blobs = join(folder, "image/blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const tars = Array.from({ length: layers }, (_, index) => makeLayer(folder, { index, files, bytes }));
  const add = (content, mediaType) => {
    const hex = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(blobs, hex), content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const json = (value, mediaType) => add(Buffer.from(JSON.stringify(value)), mediaType);
  const stored = tars.map((path) => add(readFileSync(path), "application/vnd.oci.image.layer.v1.tar"));
  const platform = { os: "linux", architecture: ARCHITECTURES[process.arch] ?? process.arch };
  const config = { ...platform, rootfs: { type: "layers", diff_ids: stored.map(({ digest }) => digest) } };
  const manifest = { schemaVersion: 2, config: json(config, "application/vnd.oci.image.config.v1+json"), layers: stored };
  const index = { schemaVersion: 2, manifests: [json(manifest, "application/vnd.oci.image.manifest.v1+json")] };
  writeFileSync(join(folder, "image/oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(join(folder, "image/index.json"), JSON.stringify(index));
  return { path: join(folder, "image"), tars };
}

function makeLayer(folder, { index, files, bytes }) {
  const root = join(folder, "root");
  const content = Buffer.alloc(bytes, index + 1);
  for (let file = 0; file < files; file += 1) {
    const at = join(root, `srv/layer-${index}/${Math.floor(file / PER_FOLDER)}`);
    if (file % PER_FOLDER === 0) mkdirSync(at, { recursive: true });
    writeFileSync(join(at, String(file)), content);
  }
  if (index === 0) run("cc", "-static", "-O1", "-o", join(root, "true"), join(ROOT, "test/fixtures/scratch.c"));
  const tar = join(folder, `layer-${index}.tar`);
  run("tar", "-C", root, "-cf", tar, ".");
  rmSync(root, { recursive: true });
  return tar;
}

function run(program, ...args) {
  const { status, stderr } = spawnSync(program, args, { env: { PATH: process.env.PATH }, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}
