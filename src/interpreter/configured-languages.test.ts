import { expect, it } from "vitest";
import { configureLanguages } from "./configured-languages.ts";
import { type Build, findLanguage, type Language, LANGUAGES, languageOfFile } from "./language.ts";

function buildOf(language: Language, file = language.entryFile): Build {
  const program = { language: language.name, code: "" };
  return { program, language, files: [{ name: file, content: "" }], kernels: "/k", memoryBytes: 268_435_456 };
}

it("leaves languages alone of which the configuration says nothing", () => {
  const languages = configureLanguages({ python: {}, perl: { template: "perl-5" } });
  for (const language of LANGUAGES.filter(({ name }) => name !== "perl")) expect(languages).toContain(language);
});

it("runs a language that it knows in a template as ever", () => {
  const go = findLanguage("golang", configureLanguages({ go: { template: "go-1.21" } }));
  expect(go).toEqual({ ...findLanguage("go"), template: "go-1.21" });
  expect(go.compile?.(buildOf(go))?.slice(0, 2)).toEqual(["go", "build"]);
});

it("runs a language that it knows by another command, which compiles by itself", () => {
  const go = findLanguage("go", configureLanguages({ go: { command: ["go", "run"] } }));
  expect(go).toMatchObject({ command: "go", env: findLanguage("go").env, needs: findLanguage("go").needs });
  expect(go.compile).toBeUndefined();
  expect(go.run(buildOf(go))).toEqual(["go", "run", "main.go"]);
});

it("adds a language, whose files it then knows", () => {
  const languages = configureLanguages({ lua: { command: ["lua", "-W"], extension: ".lua" }, awk: { command: ["awk", "-f"] } });
  const lua = findLanguage(" LUA ", languages);
  expect(lua.run(buildOf(lua))).toEqual(["lua", "-W", "main.lua"]);
  expect(lua.run(buildOf(lua, "-x.lua"))).toEqual(["lua", "-W", "./-x.lua"]);
  expect(languageOfFile("a/b.LUA", languages)).toBe(lua);
  expect(findLanguage("awk", languages)).toMatchObject({ entryFile: "main", extensions: [] });
  expect(() => findLanguage("cobol", languages)).toThrowError(/expected one of python, .*, java, lua, awk$/);
});

it("an extension stays with the language that had it", () => {
  const languages = configureLanguages({ pypy: { command: ["pypy3"], extension: ".py" } });
  expect(languageOfFile("main.py", languages)?.name).toBe("python");
  expect(findLanguage("pypy", languages).entryFile).toBe("main.py");
});

it("names all that is wrong", () => {
  const settings = { js: { template: "node" }, lua: { template: "lua" }, perl: { extension: ".pl" }, ruby: { template: "ruby" } };
  expect(() => configureLanguages(settings)).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: [
        "The configuration is invalid:",
        "  languages.js: is another name of javascript; write languages.javascript",
        '  languages.lua.command: Belljar does not know lua; name the program that runs it, such as ["lua"]',
        "  languages.perl.extension: Belljar knows it; leave it out",
      ].join("\n"),
    }),
  );
});
