export type Compression = "none" | "gzip" | "zstd";

export const INDEX_TYPES: readonly string[] = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];

export const MANIFEST_TYPES: readonly string[] = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

/** The format of before 2015. It is signed in a way of its own, and names no configuration. */
export const SCHEMA1_TYPES: readonly string[] = [
  "application/vnd.docker.distribution.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v1+prettyjws",
];

export const CONFIG_TYPES: readonly string[] = [
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
];

export const LAYER_TYPES: ReadonlyMap<string, Compression> = new Map<string, Compression>([
  ["application/vnd.oci.image.layer.v1.tar", "none"],
  ["application/vnd.oci.image.layer.v1.tar+gzip", "gzip"],
  ["application/vnd.oci.image.layer.v1.tar+zstd", "zstd"],
  ["application/vnd.docker.image.rootfs.diff.tar", "none"],
  ["application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"],
  ["application/vnd.docker.image.rootfs.diff.tar.zstd", "zstd"],
]);

/** Their bytes lie where a URL of the manifest says, and not in the registry. */
export const FOREIGN_LAYER = /^application\/vnd\.(?:oci\.image\.layer\.nondistributable\.|docker\.image\.rootfs\.foreign\.)/;
