/** Escapes control characters: text from others must not affect the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
