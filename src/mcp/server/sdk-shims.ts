/**
 * The build puts this in the place of the SDK's module `_shims`, whose default validator loads Ajv at every start. `server.ts` gives the SDK
 * another validator.
 */
export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  constructor() {
    throw new Error("This bundle has no default validator: give the SDK's server one");
  }
}
