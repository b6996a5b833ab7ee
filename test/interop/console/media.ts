import type { Browser } from "playwright-core";

/** Media files that tests generate, so that none is stored. */

/** The script in hostile files. It marks the page and calls another host. */
export const script = "parent.harmed = true; fetch('https://example.org/')";

const RATE = 8_000;

/** A tone of a number of seconds, as a WAV file. */
export function tone(seconds: number): Buffer {
  const count = RATE * seconds;
  const wav = Buffer.alloc(44 + count);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + count, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  // PCM, one channel, one byte for each sample.
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(RATE, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(count, 40);
  for (let at = 0; at < count; at++) wav[44 + at] = 128 + Math.round(60 * Math.sin((at * 2 * Math.PI * 440) / RATE));
  return wav;
}

/** Records a moving square of 64 by 48 pixels, as a WebM file. */
export async function recorded(browser: Browser): Promise<Buffer> {
  const page = await browser.newPage();
  try {
    const base64 = await page.evaluate<string>(`new Promise((resolve, reject) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
      const context = canvas.getContext("2d");
      const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm;codecs=vp8" });
      const pieces = [];
      let frame = 0;
      const timer = setInterval(() => {
        context.fillStyle = "teal";
        context.fillRect(frame, 0, 24, 48);
        if (++frame === 20) recorder.stop();
      }, 40);
      recorder.onerror = ({ error }) => reject(error);
      recorder.ondataavailable = ({ data }) => pieces.push(data);
      recorder.onstop = () => {
        clearInterval(timer);
        const reader = new FileReader();
        reader.onload = () => resolve(reader.result.split(",")[1]);
        reader.readAsDataURL(new Blob(pieces));
      };
      recorder.start();
    })`);
    return Buffer.from(base64, "base64");
  } finally {
    await page.close();
  }
}

/** A PDF with one page of text. When opened, it runs scripts and calls a URL in several ways. */
export function scriptedPdf(text: string, url: string): Buffer {
  const scripts = [
    `this.submitForm("${url}submitted")`,
    `app.launchURL("${url}launched")`,
    `this.getURL("${url}got")`,
    script,
    `app.alert("the end")`,
  ].map((each) => `try { ${each} } catch {}`);
  const content = `BT /F1 24 Tf 40 100 Td (${text}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R /OpenAction 6 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    `<< /S /JavaScript /JS (${scripts.join(";").replaceAll(/[()\\]/g, "\\$&")}) /Next 7 0 R >>`,
    `<< /S /URI /URI (${url}opened) /Next 8 0 R >>`,
    `<< /S /SubmitForm /F (${url}form) >>`,
  ];
  let pdf = "%PDF-1.7\n";
  const places = objects.map((each, at) => {
    const place = pdf.length;
    pdf += `${at + 1} 0 obj\n${each}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  pdf += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  pdf += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${pdf.lastIndexOf("xref")}\n%%EOF\n`;
  return Buffer.from(pdf, "latin1");
}
