import { createRequire, type Module as NodeModule } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

type Importer = (specifier: string, options?: unknown) => Promise<object>;
type Namespace = Readonly<Record<string, unknown>>;

/** By the whole module: Node 18's has no constants. From Node 20.12 on, a script's import() is resolved as that of a file at its place. */
const FILE_LOADER = (vm.constants as { readonly USE_MAIN_CONTEXT_DEFAULT_LOADER?: number } | undefined)?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

/** `require` and `import` as of a file in the folder that the run is in. */
export class Modules {
  #folder = openFolder(process.cwd());
  readonly #main = { exports: {}, id: ".", children: [], loaded: false } as unknown as NodeModule;

  /** Makes `require` and `module` global. */
  define(): void {
    const of = (): NodeJS.Require => this.#current().require;
    const require = Object.assign((id: string): unknown => of()(id), {
      resolve: Object.assign((id: string, options?: NodeJS.RequireResolveOptions) => of().resolve(id, options), {
        paths: (id: string) => of().resolve.paths(id),
      }),
      cache: of().cache,
      extensions: of().extensions,
      main: this.#main,
    });
    Object.assign(this.#main, { require });
    for (const [name, value] of Object.entries({ require, module: this.#main, exports: this.#main.exports }))
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  }

  /** `import(specifier, options)` in a run. */
  readonly import = async (specifier: unknown, options?: unknown): Promise<object> => this.#current().import(String(specifier), options);

  /** `import.meta` in a run. */
  get meta(): object {
    const { path, require } = this.#current();
    return {
      __proto__: null,
      dirname: path,
      filename: fileIn(path),
      url: urlOf(fileIn(path)),
      resolve: (id: string) => urlOf(require.resolve(id)),
    };
  }

  /** What a static import names. A module of CommonJS may have the name on its exports alone. */
  readonly take = (namespace: Namespace, names: readonly string[], isTyped = false): unknown[] =>
    names.map((name) => {
      if (name === "*") return namespace;
      if (name in namespace) return namespace[name];
      const exported = namespace["default"];
      if (exported !== null && typeof exported === "object" && name in exported) return (exported as Namespace)[name];
      // A type's name is gone after transpiling.
      if (isTyped) return undefined;
      throw new SyntaxError(`The module does not provide an export named '${name}'`);
    });

  #current(): Folder {
    const path = process.cwd();
    if (path !== this.#folder.path) this.#folder = openFolder(path);
    return this.#folder;
  }
}

interface Folder {
  readonly path: string;
  readonly require: NodeJS.Require;
  readonly import: Importer;
}

function openFolder(path: string): Folder {
  const require = createRequire(fileIn(path));
  return { path, require, import: FILE_LOADER === undefined ? importByRequire(require) : importByFile(path, FILE_LOADER) };
}

/** Before Node 20.12. */
function importByRequire(require: NodeJS.Require): Importer {
  return async (specifier, options) => {
    const url = specifier.includes(":") ? specifier : urlOf(require.resolve(specifier));
    return import(url, options as ImportCallOptions) as Promise<object>;
  };
}

/** Node warns of its loader with the first import, which tells the user nothing. */
function importByFile(folder: string, loader: number): Importer {
  const options = { filename: fileIn(folder), importModuleDynamically: loader };
  const importer = new vm.Script("(specifier, options) => import(specifier, options)", options).runInThisContext() as Importer;
  return (specifier, attributes) => {
    const emitWarning: unknown = Reflect.get(process, "emitWarning");
    process.emitWarning = () => undefined;
    try {
      return importer(specifier, attributes);
    } finally {
      Reflect.set(process, "emitWarning", emitWarning);
    }
  };
}

function fileIn(folder: string): string {
  return join(folder, "[run]");
}

/** A module of Node's own has a name and no path. */
function urlOf(path: string): string {
  return path.startsWith("/") ? pathToFileURL(path).href : path;
}
