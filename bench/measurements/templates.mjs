import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compare, NEVER, openTemplates, scaled, spawnPlain, summarise, time } from "../harness.mjs";
import { makeImage } from "../image.mjs";

export const limitMs = 600_000;

const LAYERS = 20;
/** 50,000 files, 200 MB. */
const FILES = 2_500;
const BYTES = 4_000;

/** Templates of an image, and the sandboxes that start from it. */
export async function measure(home) {
  const image = makeImage(home.folder, { layers: LAYERS, files: scaled(FILES), bytes: BYTES });
  const opened = await openTemplates(home);
  try {
    return [await imported(home, opened, image), await created(opened), await rebuilt(home, opened)];
  } finally {
    await opened.close();
  }
}

/** With all of its layers unpacked anew, on the disk, and the image tried. */
async function imported(home, { templates, LOCAL }, { path, tars }) {
  const measured = () => time(() => templates.make(LOCAL, { name: "large", image: path }, NEVER));
  const extract = async () => {
    const to = join(home.folder, "extracted");
    mkdirSync(to);
    const took = await time(async () => {
      for (const tar of tars) await spawnPlain("tar", ["xpf", tar, "-C", to]);
    });
    rmSync(to, { recursive: true });
    return took;
  };
  const removed = async () => {
    const took = await measured();
    await templates.remove(LOCAL, "large");
    return took;
  };
  const compared = await compare({ reference: extract, measured: removed, blocks: 2, each: 1 });
  await measured();
  return { what: "import of an image of 20 layers, 50,000 files and 200 MB", goal: 3, beside: "tar xpf of each layer", ...compared };
}

async function created({ create }) {
  const made = async (template, argv) => {
    const started = performance.now();
    const sandbox = await create({ template });
    await sandbox.guest.run({ argv, signal: NEVER });
    const took = performance.now() - started;
    await sandbox.kill();
    return took;
  };
  const works = { reference: () => made("base", ["/bin/true"]), measured: () => made("large", ["/true"]) };
  return { what: "create + exec from this image", goal: 1.5, beside: "from base", ...(await compare(works)) };
}

const CONTEXT_FILES = 200;
const REBUILDS = 20;
const DOCKERFILE = "FROM base\nWORKDIR /srv/app\nCOPY . .\nRUN cat * > ../all\nRUN wc -c < ../all > ../size\n";

/** Every step is known, and the context is read to find that out. The template is tried, and replaces the one before. */
async function rebuilt(home, { templates, LOCAL }) {
  const context = join(home.folder, "context");
  mkdirSync(context);
  for (let file = 0; file < CONTEXT_FILES; file += 1) writeFileSync(join(context, String(file)), "x".repeat(BYTES));
  const build = () => time(() => templates.make(LOCAL, { name: "built", dockerfile: DOCKERFILE, context }, NEVER));
  await build();
  const samples = [];
  for (let round = 0; round < scaled(REBUILDS); round += 1) samples.push(await build());
  return { what: "a rebuild with nothing changed, 200 files of context", most: 300, measured: summarise(samples) };
}
