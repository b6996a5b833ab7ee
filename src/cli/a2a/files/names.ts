import { basename } from "node:path";

/** Longest name of a saved file, in bytes of UTF-8. Most file systems allow 255. */
const MAX_NAME_BYTES = 200;

/** Names that Windows reserves for devices, with any extension. */
const device = /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(?:\.|$)/i;

/**
 * Returns a safe name for a file that an agent names: a name without folders, without characters that a terminal or a
 * file system could take for something else, and neither hidden nor a device. Empty if nothing of it is left.
 */
export function safeName(given: string): string {
  const [last = ""] = given.split(/[\\/]/).slice(-1);
  const plain = basename(last)
    .toWellFormed()
    // Control and formatting characters, such as those that turn the direction of text.
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, "")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  return shortened(device.test(plain) ? `_${plain}` : plain);
}

/** Returns the parts of a name around its extension, which may be empty. */
export function splitName(name: string): readonly [stem: string, extension: string] {
  const at = name.lastIndexOf(".");
  return at > 0 && name.length - at <= 16 ? [name.slice(0, at), name.slice(at)] : [name, ""];
}

function shortened(name: string): string {
  const [stem, extension] = splitName(name);
  const left = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let short = stem;
  while (Buffer.byteLength(short) > left) short = [...short].slice(0, -1).join("");
  return short + extension;
}
