import { expect, it } from "vitest";
import { LANGUAGES, findLanguage, languageOfFile } from "./language.ts";

const BUILD = { entry: "main.x", files: ["main.x"], kernels: "/k", memoryBytes: 268_435_456 };

it("finds a language by its name and by each alias, in any case", () => {
  for (const language of LANGUAGES) {
    for (const name of [language.name, ...language.aliases]) expect(findLanguage(` ${name.toUpperCase()} `)).toBe(language);
  }
});

it("names no language twice", () => {
  const names = LANGUAGES.flatMap(({ name, aliases }) => [name, ...aliases]);
  const extensions = LANGUAGES.flatMap((language) => language.extensions);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(extensions).size).toBe(extensions.length);
});

it("names all languages when one is unknown", () => {
  expect(() => findLanguage("cobol")).toThrowError(/Unknown language "cobol"; expected one of python, javascript,/);
});

it("knows a file's language by its extension", () => {
  expect(languageOfFile("a/b.PY")?.name).toBe("python");
  expect(languageOfFile("main.default.ts")?.name).toBe("typescript");
  expect(languageOfFile(".py")).toBeUndefined();
  expect(languageOfFile("Makefile")).toBeUndefined();
});

it("gives each language an entry file of its own", () => {
  for (const language of LANGUAGES) expect(languageOfFile(language.entryFile)).toBe(language);
});

it("compiles only a language's own sources", () => {
  const files = ["main.c", "util.c", "util.h", "data.txt"];
  expect(findLanguage("c").compile?.({ ...BUILD, entry: "main.c", files })).toEqual(expect.arrayContaining(["main.c", "util.c"]));
  expect(findLanguage("c").compile?.({ ...BUILD, entry: "main.c", files })).not.toContain("util.h");
});

it("builds a Go module where there is one, else the files", () => {
  const go = findLanguage("go");
  expect(go.compile?.({ ...BUILD, files: ["main.go", "go.mod"] })?.at(-1)).toBe(".");
  expect(go.compile?.({ ...BUILD, files: ["main.go", "b.go"] })?.slice(-2)).toEqual(["main.go", "b.go"]);
});

it("compiles Java on its own only where there are several files", () => {
  const java = findLanguage("java");
  expect(java.compile?.({ ...BUILD, entry: "Main.java", files: ["Main.java", "x.txt"] })).toBeUndefined();
  const files = ["app/Main.java", "app/Util.java"];
  expect(java.compile?.({ ...BUILD, entry: "app/Main.java", files })?.[0]).toBe("javac");
  expect(java.run({ ...BUILD, entry: "app/Main.java", files }).at(-1)).toBe("app.Main");
});

it("gives the JVM half of the memory for its heap", () => {
  expect(findLanguage("java").run({ ...BUILD, files: ["Main.java"], memoryBytes: 268_435_456 })).toContain("-Xmx128m");
});
