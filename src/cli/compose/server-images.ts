import type { ImageTemplate, ImageTemplates } from "../../mcp/proxy/prepare/image-templates.ts";
import { parseReference, writeReference } from "../../template/oci/registry/reference.ts";
import type { Templates } from "../../template/templates.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";
import { ImageTemplates as NamedImages } from "../import-config/image-templates.ts";

/** The templates of a home for servers that `docker run` would start. */
export function serverImages(templates: () => Promise<Pick<Templates, "list">>): ImageTemplates {
  return {
    async find(principal, image) {
      const reference = writeReference(parseReference(image));
      const all = await (await templates()).list(principal);
      const found = all.find((one) => isOf(one, reference)) ?? all.find((one) => isCalled(one, image));
      return found && toImage(found);
    },
    remedy(image) {
      const { template, network } = new NamedImages().add(image);
      return `make it with \`belljar template import ${template} ${image} --network ${network}\``;
    },
  };
}

/** What a template was made from by a path is known by its name alone. */
function isOf({ source }: TemplateDetail, reference: string): boolean {
  return source.kind === "image" && !source.from.startsWith("/") && writeReference(parseReference(source.from)) === reference;
}

/** By its own name, as after a build, or by that which the remedy gives it. */
function isCalled({ name }: TemplateDetail, image: string): boolean {
  return [image, image.replace(/:latest$/, ""), new NamedImages().add(image).template].includes(name);
}

function toImage({ name, command = [], entrypoint = [] }: TemplateDetail): ImageTemplate {
  return { template: name, command, entrypoint };
}
