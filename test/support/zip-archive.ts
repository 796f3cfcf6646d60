import { crc32 } from "node:zlib";

/** A zip file of these texts, stored as they are. */
export function zipArchive(files: Readonly<Record<string, string>>): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, content] = [Buffer.from(path), Buffer.from(text)];
    const facts = factsOf(name, content);
    const local = Buffer.concat([Buffer.from("504b03041400", "hex"), facts, name, content]);
    const attributes = Buffer.alloc(14);
    attributes.writeUInt32LE(0o100644 * 65_536, 6);
    attributes.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from("504b010214031400", "hex"), facts, attributes, name]));
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(centrals.length, 8);
  end.writeUInt16LE(centrals.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}

/** What a local header and the entry of the directory both say: of 1980, not packed. */
function factsOf(name: Buffer, content: Buffer): Buffer {
  const facts = Buffer.alloc(24);
  facts.writeUInt16LE(0x21, 6);
  facts.writeUInt32LE(crc32(content), 8);
  facts.writeUInt32LE(content.length, 12);
  facts.writeUInt32LE(content.length, 16);
  facts.writeUInt16LE(name.length, 20);
  return facts;
}
