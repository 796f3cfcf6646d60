import { parseReference, type Reference } from "../../template/oci/registry/reference.ts";
import type { ImageTemplate } from "./imported-config.ts";

const NAME_MAX = 63;
const DIGEST_SHOWN = 12;
const DOCKER_HUB = "docker.io";
/** Docker Hub answers from several hosts, and sends layers from another one. */
const DOCKER_HOSTS = "docker.io,registry-1.docker.io,auth.docker.io,production.cloudflare.docker.com";

/** Names templates after their images: one for each image, and no name twice. */
export class ImageTemplates {
  readonly #byImage = new Map<string, ImageTemplate>();

  /** Throws `ARGUMENTS_INVALID` for what names no image. */
  add(image: string): ImageTemplate {
    const known = this.#byImage.get(image);
    if (known) return known;
    const reference = parseReference(image);
    const network = reference.registry === DOCKER_HUB ? DOCKER_HOSTS : reference.registry;
    const made = { template: this.#free(nameOf(reference)), image, network };
    this.#byImage.set(image, made);
    return made;
  }

  all(): readonly ImageTemplate[] {
    return [...this.#byImage.values()];
  }

  #free(name: string): string {
    const taken = new Set(this.all().map(({ template }) => template));
    for (let count = 2, free = name; ; count += 1) {
      if (!taken.has(free)) return free;
      free = `${name.slice(0, NAME_MAX - 5)}-${count}`;
    }
  }
}

/** `python:3.11-alpine` becomes `python-3.11-alpine`. */
function nameOf({ registry, repository, tag, digest }: Reference): string {
  const path = registry === DOCKER_HUB ? repository.replace(/^library\//, "") : `${registry}-${repository}`;
  const version = digest === undefined ? tag : digest.slice(digest.indexOf(":") + 1).slice(0, DIGEST_SHOWN);
  const name = `${path}-${version}`.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, "-");
  return name.slice(-NAME_MAX).replace(/^[^a-z0-9]+/, "");
}
