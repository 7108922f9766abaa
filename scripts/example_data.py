#!/usr/bin/env python3
"""scripts/example_data.py NAME: writes an example of the documentation into the current folder.

The tables are made up, the same ones every time. `pets` and `reviews.csv` are parts of the paper's data sets, taken
from the folder that IGND_DATA names.
"""

import csv
import math
import os
import random
import sys
import tarfile
import zipfile
from pathlib import Path


def write_table(name, header, rows):
    with open(name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def houses():
    """Prices that are products of effects, with a text column that has missing values."""
    draw = random.Random(1)
    rows = []
    for _ in range(2000):
        area = round(draw.uniform(30, 200), 1)
        rooms = max(1, round(area / 25 + draw.gauss(0, 0.8)))
        city = draw.choice(["Kiel", "Bonn", "Ulm"])
        year = draw.randint(1950, 2020)
        heating = draw.choice(["oil", "gas", "gas", ""])
        worth = {"Kiel": 1.0, "Bonn": 1.25, "Ulm": 1.1}[city] * (1 + 0.004 * (year - 1985))
        price = 1000 * area * worth * (0.95 if heating == "oil" else 1) + 3000 * rooms + draw.gauss(0, 3000)
        rows.append([area, rooms, city, year, heating, round(price)])
    write_table("houses.csv", ["area", "rooms", "city", "year", "heating", "price"], rows)


def churn():
    """Two classes; customers have several rows each."""
    draw = random.Random(2)
    rows = []
    for customer in range(300):
        loyal = draw.gauss(0, 1)
        for _ in range(5):
            calls, months = draw.randint(0, 9), draw.randint(1, 60)
            plan = draw.choice(["basic", "plus"])
            odds = 0.4 * calls - 0.04 * months - loyal - (0.8 if plan == "plus" else 0)
            left = draw.random() < 1 / (1 + math.exp(-odds))
            rows.append([1000 + customer, calls, months, plan, "yes" if left else "no"])
    draw.shuffle(rows)
    write_table("churn.csv", ["customer", "calls", "months", "plan", "left"], rows)


def flats():
    """A stream of rents, its halves, three flats without a rent, and a file with a row that is cut short."""
    draw = random.Random(3)
    rows = []
    for _ in range(5000):
        size, floor, town = draw.randint(20, 150), draw.randint(0, 9), draw.choice(["Kiel", "Bonn", "Ulm"])
        rent = size * 11 + 12 * floor + {"Kiel": 60, "Bonn": 220, "Ulm": 130}[town] + draw.gauss(0, 30)
        rows.append([size, floor, town, round(rent)])
    header = ["size", "floor", "town", "rent"]
    write_table("flats.csv", header, rows)
    write_table("first.csv", header, rows[:2500])
    write_table("second.csv", header, rows[2500:])
    write_table("new.csv", ["town", "size", "floor"], [["Ulm", 70, 2], ["Bonn", 35, 5]])
    write_table("ragged.csv", ["x", "y"], [[1, 2], [3, 4], [5], [6, 7]])


def sensors():
    """What a pump needs of power: a day's rhythm, wear, a sensor that fails at times, and one that is read twice."""
    draw = random.Random(5)
    rows = []
    for hour in range(3000):
        day, clock = divmod(hour, 24)
        load = max(0.0, 50 + 30 * math.sin(2 * math.pi * (clock - 8) / 24) + draw.gauss(0, 10))
        oil = 40 + 0.3 * load + draw.gauss(0, 2)
        vibration = 1 + 0.0004 * hour + draw.gauss(0, 0.1)
        power = 3 + 0.08 * load + 1.5 * max(0.0, vibration - 1.6) + 0.02 * (oil - 55) + draw.gauss(0, 0.15)
        time = f"2024-{1 + day // 28:02}-{1 + day % 28:02} {clock:02}:00"
        shaken = "" if draw.random() < 0.05 else f"{vibration:.3f}"
        rows.append([time, f"{load:.1f}", f"{oil:.1f}", f"{oil * 9 / 5 + 32:.0f}", shaken, f"{power:.3f}"])
    write_table("sensors.csv", ["time", "load", "oil_c", "oil_f", "vibration", "power"], rows)


def clicks():
    """Advertisements on pages: two classes, one of them rare, and columns with many texts."""
    draw = random.Random(6)
    liking = {ad: draw.gauss(0, 0.8) for ad in range(60)}
    place = {site: draw.gauss(0, 0.5) for site in range(300)}
    rows = []
    for _ in range(20000):
        site, ad, hour = draw.randrange(300), draw.randrange(60), draw.randrange(24)
        device = draw.choice(["phone", "phone", "laptop", "tablet"])
        odds = -3 + liking[ad] + place[site] + (0.5 if device == "phone" else 0) + (0.4 if hour > 18 else 0)
        clicked = draw.random() < 1 / (1 + math.exp(-odds))
        rows.append([hour, device, f"site{site}", f"ad{ad}", int(clicked)])
    header = ["hour", "device", "site", "ad", "click"]
    write_table("clicks.csv", header, rows[:18000])
    write_table("later.csv", header, rows[18000:])


def fraud():
    """Payments, of which one in forty is fraud."""
    draw = random.Random(7)
    rows = []
    for _ in range(6000):
        amount = round(math.exp(draw.gauss(3.5, 1)), 2)
        hour, abroad, age = draw.randrange(24), draw.random() < 0.1, draw.randint(1, 2000)
        odds = -6.2 + 0.6 * math.log(amount) + (2.2 if abroad else 0) + (1.5 if hour < 5 else 0) - age / 900
        is_fraud = draw.random() < 1 / (1 + math.exp(-odds))
        rows.append([amount, hour, "abroad" if abroad else "home", age, "fraud" if is_fraud else "fine"])
    write_table("payments.csv", ["amount", "hour", "place", "card_age", "kind"], rows)


def data_set(name):
    path = Path(os.environ.get("IGND_DATA", "")) / name
    if not os.environ.get("IGND_DATA") or not path.exists():
        raise SystemExit(f"IGND_DATA names no folder with {name}")
    return path


def pets():
    """1,000 cats and 1,000 dogs, the first ones by name."""
    with zipfile.ZipFile(data_set("kagglecatsanddogs_5340.zip")) as archive:
        for kind in ("Cat", "Dog"):
            folder = Path("pets") / kind
            folder.mkdir(parents=True)
            names = sorted(n for n in archive.namelist() if f"/{kind}/" in n and n.endswith(".jpg"))
            for name in names[:1000]:
                (folder / Path(name).name).write_bytes(archive.read(name))


def reviews():
    """Every seventh review of both parts of IMDB, by name."""
    kept = []
    with tarfile.open(data_set("aclImdb_v1.tar.gz")) as archive:
        for member in archive:
            parts = Path(member.name).parts
            if member.isfile() and len(parts) == 4 and parts[2] in ("neg", "pos"):
                kept.append((member.name, archive.extractfile(member).read().decode(), parts[2]))
    kept.sort()
    rows = [[text, sentiment] for _, text, sentiment in kept[::7]]
    random.Random(4).shuffle(rows)
    write_table("reviews.csv", ["review", "sentiment"], rows)


def california():
    with tarfile.open(data_set("cal_housing.tgz")) as archive:
        Path("cal_housing.data").write_bytes(archive.extractfile("CaliforniaHousing/cal_housing.data").read())


MAKERS = {
    "houses.csv": houses,
    "churn.csv": churn,
    "flats.csv": flats,
    "sensors.csv": sensors,
    "clicks.csv": clicks,
    "payments.csv": fraud,
    "pets": pets,
    "reviews.csv": reviews,
    "cal_housing.data": california,
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in MAKERS:
        raise SystemExit(f"usage: scripts/example_data.py {'|'.join(MAKERS)}")
    MAKERS[sys.argv[1]]()


if __name__ == "__main__":
    main()
