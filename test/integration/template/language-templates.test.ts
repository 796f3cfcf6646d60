import { expect, it } from "vitest";
import { createInterpreter, type Interpreter } from "../../../src/interpreter/interpreter.ts";
import type { LanguagesSettings } from "../../../src/interpreter/configured-languages.ts";
import { createContext } from "../../../src/interpreter/lasting/contexts.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { addProgram, addScratch, addShell, layerOf, type LayerFill, put } from "../../support/image-lab.ts";
import { addImage, BlobStore, type Json, writeLayout } from "../../support/image-maker.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const signal = new AbortController().signal;
const OTHER: Principal = { id: "token:bob", name: "bob", grants: {} };

interface LanguageHome extends TemplateHome {
  readonly interpreter: Interpreter;
  run(language: string, code: string, principal?: Principal): ReturnType<Interpreter["runProgram"]>;
  make(name: string, fill: LayerFill, config?: Json, principal?: Principal): Promise<void>;
}

async function open(languages: LanguagesSettings): Promise<LanguageHome> {
  const home = await openTemplateHome();
  const interpreter = createInterpreter({ sandboxes: home.sandboxes, languages });
  return {
    ...home,
    interpreter,
    run: (language, code, principal = LOCAL) => interpreter.runProgram(principal, { language, code }, { signal, bringFiles: true }),
    // eslint-disable-next-line max-params -- most tests give two
    async make(name, fill, config = {}, principal = LOCAL) {
      const store = new BlobStore();
      const image = addImage(store, { layers: [{ plain: await layerOf(fill) }], config: { config: { Env: ["PATH=/bin"], ...config } } });
      await using layout = await writeLayout(store, [image]);
      await home.templates.make(principal, { name, image: layout.path }, signal);
    },
    async [Symbol.asyncDispose]() {
      await interpreter[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const withPerl: LayerFill = (root) => {
  addShell(root);
  addProgram(root, "perl");
  put(root, "note", "of the image");
  put(root, "srv/app/old.txt", "not the program's");
};

it("runs a language in its template, and another one on this machine's programs", async () => {
  await using home = await open({ perl: { template: "perl" } });
  await home.make("perl", withPerl);
  const code = 'open(F, "/note"); print <F>; open(G, ">", "made.txt"); print G "made"; close G;';
  const { left, ...result } = await home.run("perl", code);
  expect(result).toMatchObject({ status: "success", stdout: "of the image", stderr: "" });
  expect(left.files.map(({ name, content }) => [name, content?.toString()])).toEqual([["made.txt", "made"]]);
  expect(await home.run("bash", "cat /note || test -d /usr/share/doc && echo here")).toMatchObject({ stdout: "here\n" });
});

it("runs a program as the image's user, who may write nowhere else", async () => {
  await using home = await open({ perl: { template: "perl" } });
  await home.make("perl", withPerl, { User: "4321", WorkingDir: "/srv/app" });
  const result = await home.run("perl", 'print "$< ", -w "/srv/app" ? "may" : "may not", "\\n"; open(G, ">", "own.txt") or die $!;');
  expect(result).toMatchObject({ status: "success", stdout: "4321 may not\n", left: { files: [{ name: "own.txt" }] } });
});

it("runs a language that Belljar does not know, with the files and arguments of the program", async () => {
  await using home = await open({ ash: { template: "small", command: ["sh", "-e"], extension: ".ash" } });
  await home.make("small", withPerl);
  const program = {
    language: "ash",
    code: '. ./lib.ash; greet "$1"',
    files: [{ name: "lib.ash", content: 'greet() { echo "$0 $1 $(cat /note)"; }' }],
    args: ["you"],
  };
  expect(await home.interpreter.runProgram(LOCAL, program, { signal })).toMatchObject({
    stdout: "main.ash you of the image\n",
    stderr: "",
    exitCode: 0,
  });
});

it("says which interpreter a template lacks, and what to do", async () => {
  await using home = await open({
    python: { template: "small" },
    perl: { template: "scratch" },
    lua: { template: "small", command: ["lua"] },
  });
  await home.make("small", addShell);
  await home.make("scratch", (root) => addScratch(root));
  const remedy = "To have it, use a template of an image that has it, or of a snapshot of a sandbox in which it is installed";
  const code = "LANGUAGE_UNAVAILABLE";
  await expect(home.run("python", "")).rejects.toMatchObject({
    code,
    message: `The template "small" has no Python ("python3"); it has no language that Belljar knows. ${remedy}`,
  });
  await expect(home.run("perl", "")).rejects.toMatchObject({
    code,
    message: `The template "scratch" has no Perl ("perl"); it has no shell either, which could tell what else it has. ${remedy}`,
  });
  await expect(home.run("lua", "")).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/^The template "small" has no lua \("lua"\)/),
  });
  const sandbox = await home.sandboxes.create(LOCAL, { template: "scratch" }, signal);
  await expect(createContext(sandbox, { language: "python" })).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/^The template "scratch" has no Python \("python3"\)/),
  });
  await expect(home.interpreter.runProgram(LOCAL, { language: "python", code: "" }, { signal, sandbox })).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/name no sandbox: then it runs in the template "small"$/),
  });
});

it("a caller without the template is told what its owner has to do", async () => {
  await using home = await open({ perl: { template: "perl" } });
  const missing = {
    code: "TEMPLATE_NOT_FOUND",
    message:
      'The configuration runs perl in the template "perl", and there is none for you: make it with `belljar template import perl IMAGE`, ' +
      "and let others have it with `belljar template share perl`",
  };
  await expect(home.run("perl", "print 1")).rejects.toMatchObject(missing);
  await home.make("perl", withPerl);
  await expect(home.run("perl", "print 1", OTHER)).rejects.toMatchObject(missing);
  await home.templates.share(LOCAL, "perl", true);
  expect(await home.run("perl", "print 1", OTHER)).toMatchObject({ stdout: "1" });
  await home.templates.share(LOCAL, "perl", false);
  await expect(home.run("perl", "print 1", OTHER)).rejects.toMatchObject(missing);
  await home.templates.remove(LOCAL, "perl");
  await expect(home.run("perl", "print 1")).rejects.toMatchObject(missing);
});

it("runs a language in the local user's template alone, whoever else has one of that name and shares it", async () => {
  await using home = await open({ perl: { template: "perl" } });
  const sharer: Principal = { ...OTHER, grants: { sharesTemplates: true, workspaces: [{ path: "/", mode: "ro" }] } };
  const third: Principal = { id: "token:ann", name: "ann", grants: {} };
  const code = 'open(F, "/note"); print <F>;';
  await home.make("perl", (root) => (withPerl(root), put(root, "note", "of a stranger")), {}, sharer);
  await home.templates.share(sharer, "perl", true);
  for (const caller of [sharer, third]) await expect(home.run("perl", code, caller)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
  await home.make("perl", withPerl);
  await home.templates.share(LOCAL, "perl", true);
  for (const caller of [sharer, third, LOCAL]) expect(await home.run("perl", code, caller)).toMatchObject({ stdout: "of the image" });
});

it("runs a program in a folder that its template has not, and without its start command", async () => {
  await using home = await open({ perl: { template: "perl" } });
  const store = new BlobStore();
  const fill: LayerFill = (root) => (withPerl(root), put(root, "tmp/belljar-program/old.txt", "of the image"));
  const image = addImage(store, { layers: [{ plain: await layerOf(fill) }], config: { config: { Env: ["PATH=/bin"] } } });
  await using layout = await writeLayout(store, [image]);
  const start = { command: "exit 1", ready: "false" };
  await home.templates.make(LOCAL, { name: "perl", image: layout.path, start }, signal);
  const result = await home.run(
    "perl",
    'opendir(D, "."); print grep { !/^[.]/ } readdir(D); print " started" if -e "/tmp/belljar-start.log";',
  );
  expect(result).toMatchObject({ status: "success", stdout: "main.pl" });
});
