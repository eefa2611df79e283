// Draws what the page's frames ask for, the quick things first.

const DRAWN = {
  "over-time": drawOverTime,
  wakeups: drawWakeups,
  sweep: drawSweep,
  timeline: drawTimeline,
  machine: drawMachine,
  heat: drawHeat,
};

async function start() {
  startTheme();
  const chapters = JSON.parse(document.getElementById("data").textContent);
  const drawings = [];
  for (const chapter of chapters) {
    // Columns are read once, and only those that are shown.
    const read = new Map();
    const turnsOf = (index) => {
      if (!read.has(index))
        read.set(index, readTurns(chapter.idx, index, chapter.variants[index].recorded));
      return read.get(index);
    };
    const article = document.getElementById(`chapter-${chapter.idx}`);
    for (const [name, draw] of Object.entries(DRAWN)) {
      article.querySelectorAll(`[data-draw="${name}"]`).forEach((place) => {
        drawings.push([name, () => draw(place, chapter, turnsOf)]);
      });
    }
  }
  for (const [name, draw] of drawings) {
    // A drawing that fails leaves the others and the tables alone; the console says why.
    try {
      await draw();
    } catch (error) {
      console.error(`${name}: ${error.stack ?? error}`);
    }
    if (name === "timeline")
      document.documentElement.dataset.usable = String(Math.round(performance.now()));
    await new Promise((resume) => setTimeout(resume));
  }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
