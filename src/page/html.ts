/** Markup that needs no further escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | undefined | readonly (Html | string)[];

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** An HTML template: values are escaped unless they are `Html`; undefined is empty, lists are joined. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(textOf)));
}

function textOf(value: Value): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string") return value.replace(/[&<>"']/g, (character) => escapes[character] ?? "");
  return value.map(textOf).join("");
}

/** An address that may be followed: of the web, or of mail. Anything else, such as `javascript:`, is no link. */
export function isLink(url: string): boolean {
  return URL.canParse(url) && ["http:", "https:", "mailto:"].includes(new URL(url).protocol);
}
