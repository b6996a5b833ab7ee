/** A file of a program. */
export interface SourceFile {
  readonly language: string;
  readonly path: string;
  readonly content: string;
}

/** Programs that the offline model can write, by what people call them. */
export const programs: readonly { readonly name: RegExp; readonly files: readonly SourceFile[] }[] = [
  {
    name: /fizz ?buzz/i,
    files: [
      {
        language: "python",
        path: "fizzbuzz.py",
        content: `def fizzbuzz(number: int) -> str:
    words = "Fizz" * (number % 3 == 0) + "Buzz" * (number % 5 == 0)
    return words or str(number)


if __name__ == "__main__":
    for number in range(1, 101):
        print(fizzbuzz(number))
`,
      },
    ],
  },
  {
    name: /(http|web) ?server/i,
    files: [
      {
        language: "ts",
        path: "src/handler.ts",
        content: `/** Returns the answer to a request. */
export function answer(path: string): string {
  return path === "/" ? "Hello!" : \`Hello, \${path.slice(1)}!\`;
}
`,
      },
      {
        language: "ts",
        path: "src/server.ts",
        content: `import { createServer } from "node:http";
import { answer } from "./handler.js";

const port = 3000;

createServer((request, response) => response.end(answer(request.url ?? "/"))).listen(port);
console.log(\`Listening on \${port}\`);
`,
      },
    ],
  },
  {
    name: /to-?do/i,
    files: [
      {
        language: "html",
        path: "index.html",
        content: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>To do</title>
    <link rel="stylesheet" href="style.css">
  </head>
  <body>
    <h1>To do</h1>
    <form><input name="task" placeholder="What is to be done?"></form>
    <ul></ul>
    <script type="module" src="app.js"></script>
  </body>
</html>
`,
      },
      {
        language: "css",
        path: "style.css",
        content: `body {
  font-family: sans-serif;
  color: black;
}

li.done {
  text-decoration: line-through;
}
`,
      },
      {
        language: "js",
        path: "app.js",
        content: `const form = document.querySelector("form");
const list = document.querySelector("ul");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const item = document.createElement("li");
  item.textContent = form.task.value;
  item.addEventListener("click", () => item.classList.toggle("done"));
  list.append(item);
  form.reset();
});
`,
      },
    ],
  },
];

/** A test for the program whose files these are. */
export function testOf(files: readonly SourceFile[]): SourceFile | undefined {
  if (files.some(({ path }) => path === "fizzbuzz.py")) {
    return {
      language: "python",
      path: "test_fizzbuzz.py",
      content: `from fizzbuzz import fizzbuzz


def test_fizzbuzz() -> None:
    assert [fizzbuzz(number) for number in (1, 3, 5, 15)] == ["1", "Fizz", "Buzz", "FizzBuzz"]
`,
    };
  }
  if (files.some(({ path }) => path === "src/handler.ts")) {
    return {
      language: "ts",
      path: "src/handler.test.ts",
      content: `import { equal } from "node:assert/strict";
import { test } from "node:test";
import { answer } from "./handler.js";

test("greets by the path", () => equal(answer("/Ann"), "Hello, Ann!"));
`,
    };
  }
  return undefined;
}
